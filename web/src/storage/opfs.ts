/**
 * A database in the origin private file system. Its handles open asynchronously, so the database, its journal and its
 * log are open from the start; an empty journal or log is
 * none. A handle is exclusive in the whole origin, and ends with the worker: that is the lock.
 */

import { DATABASE } from "./storage.js";
import type { Bytes, Store } from "./store.js";

/** The part of a handle that is used; not every library of types has it. */
interface Handle {
  getSize(): number;
  read(into: Uint8Array, options: { at: number }): number;
  write(data: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}
const SUFFIXES = ["", "-journal", "-wal"];

class OpfsBytes implements Bytes {
  readonly #handle: Handle;
  // Nobody else has the file: what was asked once is known.
  #size: number;

  constructor(handle: Handle) {
    this.#handle = handle;
    this.#size = handle.getSize();
  }

  size(): number {
    return this.#size;
  }

  read(offset: number, into: Uint8Array): void {
    this.#handle.read(into, { at: offset });
  }

  write(offset: number, data: Uint8Array): void {
    if (this.#handle.write(data, { at: offset }) !== data.length) throw new Error("a short write");
    this.#size = Math.max(this.#size, offset + data.length);
  }

  truncate(size: number): void {
    this.#handle.truncate(size);
    this.#size = size;
  }

  sync(): void {
    this.#handle.flush();
  }

  close(): void {}

  /** Lets another worker open it. */
  release(): void {
    this.#handle.close();
  }
}

/** The three files. */
export class OpfsStore implements Store {
  readonly writable: boolean;
  readonly #files: Map<string, OpfsBytes>;

  private constructor(writable: boolean, files: Map<string, OpfsBytes>) {
    this.writable = writable;
    this.#files = files;
  }

  /** Opens the files, and makes them if they are not there. Throws if another tab has them. */
  static async open(name: string, readonly: boolean): Promise<OpfsStore> {
    const folder = await navigator.storage.getDirectory();
    const files = new Map<string, OpfsBytes>();
    try {
      for (const suffix of SUFFIXES) {
        const file = await folder.getFileHandle(name + suffix, { create: true });
        const open = file as unknown as { createSyncAccessHandle(): Promise<Handle> };
        files.set(DATABASE + suffix, new OpfsBytes(await open.createSyncAccessHandle()));
      }
    } catch (error) {
      for (const file of files.values()) file.release();
      if ((error as Error).name !== "NoModificationAllowedError") throw error;
      throw new Error(`The database ${name} is open in another tab. Close it there, and try again.`);
    }
    return new OpfsStore(!readonly, files);
  }

  #file(name: string): OpfsBytes | undefined {
    return this.#files.get(name);
  }

  open(name: string, create: boolean): Bytes | undefined {
    return create || this.exists(name) ? this.#file(name) : undefined;
  }

  delete(name: string): boolean {
    const file = this.#file(name);
    if (!file?.size()) return false;
    file.truncate(0);
    file.sync();
    return true;
  }

  exists(name: string): boolean {
    return name === DATABASE || (this.#file(name)?.size() ?? 0) > 0;
  }

  close(): void {
    for (const file of this.#files.values()) file.release();
  }
}
