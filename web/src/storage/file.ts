/** Open files as the guest sees them: locks, quota, and what a stranger may ask for. `wit/storage.wit` says what each does. */

import type { Bytes } from "./store.js";

/** The cases of `storage.error-code`, in its order. */
export const ERROR_CODES = [
  "busy", "full", "not-found", "denied", "read-only", "cannot-init", "unsupported", "invalid", "io", "exists",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The cases of `storage.lock-level`, in its order. */
export const LEVELS = ["none", "shared", "reserved", "pending", "exclusive"] as const;
export type Level = (typeof LEVELS)[number];
const SHARED = 1, RESERVED = 2, PENDING = 3, EXCLUSIVE = 4;

/** A result of SQLite's file layer. jco takes `payload` for the error of a result. */
export class Refusal extends Error {
  readonly payload: ErrorCode;

  constructor(code: ErrorCode) {
    super(code);
    this.payload = code;
  }
}

/** What all files together may grow by, in bytes. */
export class Quota {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes what a file grows by, or gives back what it shrinks by. Throws `full`. */
  grow(bytes: number): void {
    if (bytes > this.#left) throw new Refusal("full");
    this.#left -= bytes;
  }
}

/** One file by its name, however often it is open. */
export interface Named {
  readonly bytes: Bytes;
  readonly writable: boolean;
  /** The levels of those who have it open. */
  readonly holders: Set<File>;
  /** Called when the first one reads, and when no one does any more. */
  readonly reading: ((begins: boolean) => void) | undefined;
  /** Called when no one has it open any more. */
  readonly closed: () => void;
}

const MAX_READ = 16 << 20;
const rep = Symbol.for("cabiRep");
let last = 0;

/** An open file. Offsets are numbers; the lowering refuses those that are none. */
export class File {
  /** By the number under which the guest holds them. */
  static readonly open = new Map<number, File>();

  readonly #named: Named;
  readonly #quota: Quota;
  level = 0;

  constructor(named: Named, quota: Quota) {
    this.#named = named;
    this.#quota = quota;
    named.holders.add(this);
    last += 1;
    (this as Record<symbol, unknown>)[rep] = last;
    File.open.set(last, this);
  }

  /** How many bytes `read` would give. */
  readable(offset: number, length: number): number {
    if (length > MAX_READ) throw new Refusal("invalid");
    return Math.max(0, Math.min(length, this.size() - offset));
  }

  read(offset: number, into: Uint8Array): void {
    this.#named.bytes.read(offset, into);
  }

  write(offset: number, data: Uint8Array): void {
    this.#resize(Math.max(this.size(), offset + data.length), () => this.#named.bytes.write(offset, data));
  }

  truncate(size: number): void {
    this.#resize(size, () => this.#named.bytes.truncate(size));
  }

  #resize(size: number, work: () => void): void {
    if (!this.#named.writable) throw new Refusal("read-only");
    if (!Number.isSafeInteger(size)) throw new Refusal("invalid");
    const grown = size - this.size();
    this.#quota.grow(grown);
    try {
      work();
    } catch (error) {
      this.#quota.grow(-grown);
      throw error;
    }
  }

  sync(): void {
    this.#named.bytes.sync();
  }

  size(): number {
    return this.#named.bytes.size();
  }

  /** Raises the lock: https://www.sqlite.org/lockingv3.html, among those who have the file open here. */
  lock(level: number): void {
    if (level <= this.level) return;
    if (level === PENDING || (level > SHARED && this.level < SHARED)) throw new Refusal("invalid");
    const others = [...this.#named.holders].filter((file) => file !== this).map((file) => file.level);
    const highest = Math.max(0, ...others);
    if (highest >= (level === SHARED ? PENDING : RESERVED)) throw new Refusal("busy");
    if (level === EXCLUSIVE && highest > 0) {
      this.level = PENDING;
      throw new Refusal("busy");
    }
    if (level === SHARED && highest === 0) this.#named.reading?.(true);
    this.level = level;
  }

  unlock(level: number): void {
    if (level > SHARED) throw new Refusal("invalid");
    if (level >= this.level) return;
    this.level = level;
    if (level === 0 && [...this.#named.holders].every((file) => file.level === 0)) this.#named.reading?.(false);
  }

  checkReserved(): boolean {
    return [...this.#named.holders].some((file) => file.level >= RESERVED);
  }

  device() {
    return { sectorSize: 4096, characteristics: 0, sharedMemory: false, directIo: false };
  }

  isReadOnly(): boolean {
    return !this.#named.writable;
  }

  hasMoved(): boolean {
    return false;
  }

  publish(): never {
    throw new Refusal("denied");
  }

  /** Closes it; its locks end. */
  [Symbol.dispose](): void {
    File.open.delete((this as Record<symbol, unknown>)[rep] as number);
    this.level = 0;
    this.#named.holders.delete(this);
    if (this.#named.holders.size === 0) this.#named.closed();
  }
}
