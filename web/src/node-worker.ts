/** The worker in Node. */

import { parentPort } from "node:worker_threads";

import { DiskStore } from "./storage/disk.js";
import { serve } from "./worker.js";

const port = parentPort;
if (!port) throw new Error("this is a worker");
serve({ post: (message) => port.postMessage(message), listen: (take) => void port.on("message", take) }, async (source, options) => {
  if (source.place !== "disk") throw new Error(`There is no place ${source.place} in Node.`);
  return new DiskStore(source.path, options.readonly, options.exclusive);
});
