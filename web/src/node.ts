/** The package in Node: databases in memory and on disk. */

import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";

import { Database, type Options, type Platform } from "./database.js";
import { memoryBytes } from "./source.js";
import type { Modules } from "./session.js";

export * from "./database.js";

/** The code needs less than this of V8's stack, as far as SQLite's own limits of depth let it go. */
const STACK_MB = 8;

let modules: Promise<Modules> | undefined;

const platform: Platform = {
  start(failed) {
    const worker = new Worker(new URL("./node-worker.js", import.meta.url), { resourceLimits: { stackSizeMb: STACK_MB } });
    worker.on("error", (error) => failed(error));
    // A program that only waits for a database that it does not close may end.
    worker.unref();
    return {
      post: (message) => worker.postMessage(message),
      listen: (take) => void worker.on("message", take),
      terminate: () => void worker.terminate(),
    };
  },
  modules() {
    modules ??= compile();
    return modules;
  },
};

async function compile(): Promise<Modules> {
  const names = ["sqlarium.core.wasm", "sqlarium.core2.wasm", "sqlarium.core3.wasm"];
  const compiled = names.map(async (name) => {
    const bytes = await readFile(new URL(`./component/${name}`, import.meta.url));
    return [name, await WebAssembly.compile(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(compiled));
}

/**
 * Opens a database: a path, `":memory:"`, or the bytes of a file, which are copied.
 *
 * Node has no locks on files and does not see those of other programs, SQLite's own among them: a file is written only
 * if you say that it is yours alone (`exclusive`), and only read without.
 */
export async function open(source: string | ArrayBuffer | Uint8Array | Blob, options: Options = {}): Promise<Database> {
  if (source === ":memory:") return Database.open(platform, { place: "memory" }, source, options);
  if (typeof source === "string") return Database.open(platform, { place: "disk", path: source }, source, options);
  return Database.open(platform, { place: "memory", bytes: await memoryBytes(source) }, "memory", options);
}
