/** What the page and its worker say to each other. */

import type { Chosen } from "./options.js";
import type { Modules, Triaged } from "./session.js";

/** Where the database is. */
export type Source =
  /** In memory, from these bytes or empty. */
  | { place: "memory"; bytes?: Uint8Array<ArrayBuffer> }
  /** A file on disk, for Node. */
  | { place: "disk"; path: string }
  /** A file of the origin private file system, for browsers. */
  | { place: "opfs"; name: string }
  /** None: this worker triages. */
  | { place: "nowhere" };

/** How a worker starts. */
export interface Start {
  kind: "start";
  source: Source;
  title: string;
  options: Chosen;
  modules: Modules;
  /** A cell that holds the number of the call that is cancelled. */
  cell: Int32Array | undefined;
}
/** What it is asked afterwards. */
export type Request =
  | { kind: "answer"; line: Uint8Array; number: number }
  | { kind: "overlong"; head: Uint8Array }
  | { kind: "triage"; line: Uint8Array; state: Uint8Array; running: Uint8Array; queued: Uint8Array[] }
  | { kind: "copy" }
  | { kind: "close" };

/** What it says: one `done` or `failed` for each question, and the others meanwhile. */
export type Said =
  | { kind: "done"; value: unknown }
  | { kind: "failed"; message: string; name: string }
  | { kind: "notify"; line: string }
  | { kind: "state"; state: Uint8Array }
  | { kind: "log"; text: string };

export type { Triaged };

/** Either end of the pipe. */
export interface Port {
  post(message: Start | Request | Said): void;
  /** Called with each message. */
  listen(take: (message: unknown) => void): void;
}
