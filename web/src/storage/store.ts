/** Where bytes are kept: what a place has to offer, and the place that every host has, memory. */

/** The bytes of one file. */
export interface Bytes {
  size(): number;
  /** Fills all of `into`, which ends within the file. */
  read(offset: number, into: Uint8Array): void;
  /** Writes all of it; a gap reads as zeros. */
  write(offset: number, data: Uint8Array): void;
  /** Cuts, or extends with zeros. */
  truncate(size: number): void;
  /** Returns when what was written outlives whatever the place promises. */
  sync(): void;
  close(): void;
}

/** A place that keeps files by name. Only names that were granted reach it. */
export interface Store {
  /** The file, made if `create` says so; `undefined` if it is not there. */
  open(name: string, create: boolean): Bytes | undefined;
  /** Whether it was there. */
  delete(name: string): boolean;
  exists(name: string): boolean;
  /** Whether the files may be written. */
  readonly writable: boolean;
  /** What the owner should know of the place. */
  readonly warning?: string | undefined;
  /** Told when reading of the database begins and ends; throws if what was read cannot be trusted. */
  reading?(begins: boolean): void;
  /** Lets go of everything. */
  close(): void;
}

/** Bytes in memory, which grow by doubling. */
export class MemoryBytes implements Bytes {
  #buffer: Uint8Array<ArrayBuffer>;
  #size: number;

  constructor(bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0)) {
    this.#buffer = bytes;
    this.#size = bytes.length;
  }

  /** A copy of them. */
  copy(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.subarray(0, this.#size));
  }

  size(): number {
    return this.#size;
  }

  read(offset: number, into: Uint8Array): void {
    into.set(this.#buffer.subarray(offset, offset + into.length));
  }

  write(offset: number, data: Uint8Array): void {
    if (offset + data.length > this.#size) this.truncate(offset + data.length);
    this.#buffer.set(data, offset);
  }

  truncate(size: number): void {
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#buffer.length, 1 << 16));
      larger.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = larger;
    } else if (size < this.#size) {
      this.#buffer.fill(0, size, this.#size);
    }
    this.#size = size;
  }

  sync(): void {}
  close(): void {}
}

/** A place in memory, with one file in it to begin with, or none. */
export class MemoryStore implements Store {
  readonly writable: boolean;
  readonly #files = new Map<string, MemoryBytes>();

  constructor(writable: boolean, files: Iterable<[string, Uint8Array<ArrayBuffer>]> = []) {
    this.writable = writable;
    for (const [name, bytes] of files) this.#files.set(name, new MemoryBytes(bytes));
  }

  open(name: string, create: boolean): MemoryBytes | undefined {
    let bytes = this.#files.get(name);
    if (!bytes && create) this.#files.set(name, (bytes = new MemoryBytes()));
    return bytes;
  }

  delete(name: string): boolean {
    return this.#files.delete(name);
  }

  exists(name: string): boolean {
    return this.#files.has(name);
  }

  close(): void {
    this.#files.clear();
  }
}
