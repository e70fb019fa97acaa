/** The package in a browser: databases in memory and in the origin private file system. */

import { Database, type Options, type Platform } from "./database.js";
import { memoryBytes } from "./source.js";
import type { Modules } from "./session.js";

export * from "./database.js";

const CODE = {
  "sqlarium.core.wasm": new URL("./component/sqlarium.core.wasm", import.meta.url),
  "sqlarium.core2.wasm": new URL("./component/sqlarium.core2.wasm", import.meta.url),
  "sqlarium.core3.wasm": new URL("./component/sqlarium.core3.wasm", import.meta.url),
};
let modules: Promise<Modules> | undefined;

const platform: Platform = {
  start(failed) {
    const worker = new Worker(new URL("./browser-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("error", (event) => failed(new Error(event.message || "The worker could not be loaded.")));
    return {
      post: (message) => worker.postMessage(message),
      listen: (take) => worker.addEventListener("message", (event) => take(event.data)),
      terminate: () => worker.terminate(),
    };
  },
  modules() {
    modules ??= compile();
    return modules;
  },
};

async function compile(): Promise<Modules> {
  const compiled = Object.entries(CODE).map(async ([name, url]) => {
    return [name, await WebAssembly.compileStreaming(fetch(url))] as const;
  });
  return Object.fromEntries(await Promise.all(compiled));
}

/**
 * Opens a database: the name of a file in the origin private file system, `":memory:"`, or the bytes of a file, which
 * are copied.
 *
 * A file of the origin private file system is made if it is not there, survives a crash in the middle of a write, and
 * is open in one tab at a time.
 */
export async function open(source: string | ArrayBuffer | Uint8Array | Blob, options: Options = {}): Promise<Database> {
  if (source === ":memory:") return Database.open(platform, { place: "memory" }, source, options);
  if (typeof source === "string") return Database.open(platform, { place: "opfs", name: source }, source, options);
  return Database.open(platform, { place: "memory", bytes: await memoryBytes(source) }, "memory", options);
}
