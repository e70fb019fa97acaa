/**
 * The imports that a call makes most, lowered by hand: jco takes a core function for an import from the property
 * `Symbol.for("cabiLower")` of it (`--import-bindings hybrid`), and its own takes ten times as long. The layouts are
 * those of the canonical ABI for `wit/storage.wit` and `wit/control.wit`.
 */

import { Abort, type Control, type Verdict } from "./control.js";
import { ERROR_CODES, File, Refusal } from "./storage/file.js";
import type { Storage } from "./storage/storage.js";

interface Context {
  memory: WebAssembly.Memory;
  realloc: (pointer: number, size: number, align: number, length: number) => number;
  resourceTables: number[][];
}
type Core = (...args: never[]) => unknown;

const OWN = 1 << 30;
const text = new TextDecoder();
const bytes = new TextEncoder();

/** Gives a function its core function, made when the memory is there. */
function lowered<F extends object>(call: F, lower: (context: Context) => Core): F {
  return Object.assign(call, { [Symbol.for("cabiLower")]: lower });
}

class Memory {
  readonly #context: Context;
  #view: DataView;

  constructor(context: Context) {
    this.#context = context;
    this.#view = new DataView(context.memory.buffer);
  }

  /** A view of all of it, which a growth replaces. */
  get view(): DataView {
    if (this.#view.buffer !== this.#context.memory.buffer) this.#view = new DataView(this.#context.memory.buffer);
    return this.#view;
  }

  slice(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.#context.memory.buffer, pointer >>> 0, length >>> 0);
  }

  allocate(length: number): number {
    return this.#context.realloc(0, 0, 1, length) >>> 0;
  }

  string(pointer: number, length: number): string {
    return text.decode(this.slice(pointer, length));
  }

  verdict(at: number, verdict: Verdict): void {
    switch (verdict.tag) {
      case "proceed":
        this.view.setUint8(at, 0);
        this.view.setBigUint64(at + 8, verdict.val, true);
        break;
      case "cancelled":
        this.view.setUint8(at, 1);
        break;
      case "stop": {
        const sentence = bytes.encode(verdict.val);
        const pointer = this.allocate(sentence.length);
        this.slice(pointer, sentence.length).set(sentence);
        this.view.setUint8(at, 2);
        this.view.setUint32(at + 8, pointer, true);
        this.view.setUint32(at + 12, sentence.length, true);
      }
    }
  }

  /** Writes a result whose payload stands `payload` bytes behind its tag. */
  result(at: number, payload: number, work: () => void): void {
    let code = -1;
    try {
      work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      code = ERROR_CODES.indexOf(error.payload);
    }
    this.view.setUint8(at, code < 0 ? 0 : 1);
    if (code >= 0) this.view.setUint8(at + payload, code);
  }
}

/** A number that SQLite may mean; offsets beyond 2^53 are none. */
function number(offset: bigint): number {
  const value = BigInt.asUintN(64, offset);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Refusal("invalid");
  return Number(value);
}

/** A method of `file`: its work, and how far behind the tag its payload stands. */
function method<A extends unknown[]>(
  name: keyof File,
  payload: number,
  work: (memory: Memory, file: File, ret: number, ...rest: A) => void,
): void {
  lowered(File.prototype[name] as Core, (context) => {
    const memory = new Memory(context);
    const table = context.resourceTables[0] ?? [];
    return (handle: number, ...rest: [...A, number]) => {
      const file = File.open.get((table[(handle << 1) + 1] ?? 0) & ~OWN);
      if (!file) throw new Abort("no such handle");
      const ret = (rest.pop() as number) >>> 0;
      memory.result(ret, payload, () => work(memory, file, ret, ...(rest as unknown as A)));
    };
  });
}

method("read", 4, (memory, file, ret, offset: bigint, length: number) => {
  const from = number(offset);
  const readable = file.readable(from, length >>> 0);
  const pointer = memory.allocate(readable);
  file.read(from, memory.slice(pointer, readable));
  memory.view.setUint32(ret + 4, pointer, true);
  memory.view.setUint32(ret + 8, readable, true);
});
method("write", 1, (memory, file, _ret, offset: bigint, pointer: number, length: number) =>
  file.write(number(offset), memory.slice(pointer, length)),
);
method("truncate", 1, (_memory, file, _ret, size: bigint) => file.truncate(number(size)));
method("sync", 1, (_memory, file) => file.sync());
method("size", 8, (memory, file, ret) => memory.view.setBigUint64(ret + 8, BigInt(file.size()), true));
method("lock", 1, (_memory, file, _ret, level: number) => file.lock(level));
method("unlock", 1, (_memory, file, _ret, level: number) => file.unlock(level));
method("checkReserved", 1, (memory, file, ret) => memory.view.setUint8(ret + 1, Number(file.checkReserved())));

/** The import `storage`. */
export function storageImports(storage: Storage) {
  return {
    File,
    open: (name: string, role: string, options: object) => storage.open(name, role, options),
    delete: (name: string) => storage.delete(name),
    exists: lowered(
      (name: string, writable: boolean) => storage.exists(name, writable),
      (context) => {
        const memory = new Memory(context);
        return (pointer: number, length: number, writable: number, ret: number) =>
          memory.result(ret, 1, () => {
            const there = storage.exists(memory.string(pointer, length), writable !== 0);
            memory.view.setUint8(ret + 1, Number(there));
          });
      },
    ),
  };
}

/** The import `control`. */
export function controlImports(control: Control) {
  return {
    check: lowered(
      () => control.check(),
      (context) => {
        const memory = new Memory(context);
        return (ret: number) => memory.verdict(ret, control.check());
      },
    ),
    usage: lowered(
      () => control.usage(),
      (context) => {
        const memory = new Memory(context);
        return (ret: number) => {
          const { fuel, timeUs, verdict } = control.usage();
          memory.verdict(ret + 16, verdict);
          memory.view.setBigUint64(ret, fuel, true);
          memory.view.setBigUint64(ret + 8, timeUs, true);
        };
      },
    ),
    meter: lowered(
      (left: bigint) => control.meter(left),
      () => (left: bigint) => control.meter(left),
    ),
    wait: (ms: number) => control.wait(ms),
    notify: (line: string) => control.notify(line),
    saveState: (state: Uint8Array) => {
      control.saveState(state);
    },
    extendState: (part: Uint8Array) => control.extendState(part),
    running: () => control.running(),
    queued: (index: number) => control.queued(index),
    offsetAt: (seconds: bigint) => control.offsetAt(seconds),
  };
}
