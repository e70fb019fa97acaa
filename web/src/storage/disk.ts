/**
 * A database on disk, in Node, which has no locks and does not see those of others.
 *
 * Exclusive, the owner promises that nobody else opens the file. Otherwise it is only read, never rolled back, and what
 * was read is looked at again: if somebody wrote meanwhile, the answer is withheld.
 */

import * as fs from "node:fs";
import { dirname } from "node:path";

import { Abort } from "../control.js";
import { Refusal, type ErrorCode } from "./file.js";
import { DATABASE } from "./storage.js";
import type { Bytes, Store } from "./store.js";

const CODES: Record<string, ErrorCode> = { ENOSPC: "full", EDQUOT: "full", EFBIG: "full", EROFS: "read-only" };

/** Does something to a file; what the system refuses becomes what SQLite knows. */
function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code ? new Refusal(CODES[code] ?? "io") : error;
  }
}

class DiskBytes implements Bytes {
  readonly #file: number;

  constructor(file: number) {
    this.#file = file;
  }

  size(): number {
    return attempt(() => fs.fstatSync(this.#file).size);
  }

  read(offset: number, into: Uint8Array): void {
    let done = 0;
    while (done < into.length) {
      const read = attempt(() => fs.readSync(this.#file, into, done, into.length - done, offset + done));
      if (read === 0) throw new Refusal("io");
      done += read;
    }
  }

  write(offset: number, data: Uint8Array): void {
    let done = 0;
    while (done < data.length) {
      done += attempt(() => fs.writeSync(this.#file, data, done, data.length - done, offset + done));
    }
  }

  truncate(size: number): void {
    attempt(() => fs.ftruncateSync(this.#file, size));
  }

  sync(): void {
    attempt(() => fs.fdatasyncSync(this.#file));
  }

  close(): void {
    fs.closeSync(this.#file);
  }
}

/** What changes when somebody writes. */
interface Look {
  journal: boolean;
  file: string;
}

export class DiskStore implements Store {
  readonly writable: boolean;
  readonly warning: string | undefined;
  readonly #path: string;
  readonly #exclusive: boolean;
  #seen: Look | undefined;

  constructor(path: string, readonly: boolean, exclusive: boolean) {
    this.#path = path;
    this.#exclusive = exclusive;
    this.writable = exclusive && !readonly;
    this.warning =
      exclusive || readonly
        ? undefined
        : `${path} is only read, since Node has no locks on files. Say that it is yours alone (exclusive) to write.`;
    if (!exclusive && !fs.existsSync(path)) {
      throw new Error(`There is no file ${path}. To make one, say that it is yours alone: exclusive.`);
    }
    if (this.writable) fs.closeSync(fs.openSync(path, "a"));
  }

  #at(name: string): string {
    return this.#path + name.slice(DATABASE.length);
  }

  open(name: string, create: boolean): Bytes | undefined {
    const { O_RDWR, O_RDONLY, O_CREAT } = fs.constants;
    const flags = this.writable ? O_RDWR | (create ? O_CREAT : 0) : O_RDONLY;
    try {
      return new DiskBytes(fs.openSync(this.#at(name), flags, 0o666));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return undefined;
      throw new Refusal(code === "EACCES" || code === "EPERM" ? "denied" : (CODES[code ?? ""] ?? "io"));
    }
  }

  delete(name: string): boolean {
    const path = this.#at(name);
    if (!fs.existsSync(path)) return false;
    attempt(() => fs.unlinkSync(path));
    this.#syncFolder();
    return true;
  }

  /** What was made or deleted in the folder stays so after a power cut. Not every system can do that. */
  #syncFolder(): void {
    try {
      const folder = fs.openSync(dirname(this.#path), "r");
      fs.fsyncSync(folder);
      fs.closeSync(folder);
    } catch {
      return;
    }
  }

  exists(name: string): boolean {
    return fs.existsSync(this.#at(name));
  }

  #look(): Look {
    return attempt(() => {
      const file = fs.openSync(this.#path, "r");
      try {
        const counters = Buffer.alloc(100);
        fs.readSync(file, counters, 0, 100, 0);
        const { size, mtimeNs, ino } = fs.fstatSync(file, { bigint: true });
        const journal = fs.statSync(`${this.#path}-journal`, { throwIfNoEntry: false });
        return { journal: (journal?.size ?? 0) > 0, file: [ino, size, mtimeNs, counters.toString("latin1")].join() };
      } finally {
        fs.closeSync(file);
      }
    });
  }

  reading(begins: boolean): void {
    if (this.#exclusive) return;
    const look = this.#look();
    if (look.journal) {
      throw new Abort(
        "Stopped: a journal lies beside the database, so another program writes to it, or has crashed while it did. " +
          "Nothing was read. Ask again when it has finished; if nobody writes, the owner has to open the file exclusively " +
          "once, which rolls back.",
      );
    }
    if (begins) {
      this.#seen = look;
    } else if (look.file !== this.#seen?.file) {
      throw new Abort("Stopped: another program wrote to the database while it was read, so there is no answer. Ask again.");
    }
  }

  close(): void {}
}
