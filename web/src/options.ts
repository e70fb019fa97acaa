/** What the owner of a database chooses. The defaults are those of the program `sqlarium`. */

import { DATABASE, RECORD } from "./storage/storage.js";

/** All of it is optional. Sizes are in bytes, times in milliseconds. */
export interface Options {
  /** Refuse every write. */
  readonly?: boolean;
  /** A file on disk (Node): you promise that nobody else opens it meanwhile. Without it a file is only read. */
  exclusive?: boolean;
  /** Time limit of one call: 60,000. */
  timeout?: number;
  /** Work limit of one call, in turns of a loop inside the sandbox: 200,000,000,000. */
  fuel?: number;
  /** Memory limit of the sandbox: 256 MiB; at most 1 GiB. */
  memory?: number;
  /** Growth limit of all files together, temporary ones too: 1 GiB. */
  disk?: number;
  /** Rows returned when the call gives no limit: 200. */
  rows?: number;
  /** Maximum rows, whatever limit the call gives: 10,000. */
  maxRows?: number;
  /** Maximum bytes of text in one result: 48,000. */
  text?: number;
  /** Maximum characters of one cell in text output: 2,000. */
  cell?: number;
  /** Maximum bytes of a request line: 1 MiB. */
  request?: number;
  /** Maximum bytes of a reply line: 8 MiB. */
  reply?: number;
  /** Tools to serve: `all`, `core`, `select`, or names separated by commas. */
  tools?: string;
  /** Hold a client to the letter of the protocol. */
  strict?: boolean;
  /** Keep what undoes writes: true; `required` refuses a write that cannot be undone. */
  undo?: boolean | "required";
  /** Memory limit of what undo keeps: 64 MiB. */
  undoMemory?: number;
  /** Notes to show beside tables and columns, TOML. */
  notes?: string;
}

const MIB = 1 << 20;
/** What the build gives the component's memory as its maximum. */
export const MOST_MEMORY = 1024 * MIB;

const DEFAULTS: { [K in keyof Options]-?: Exclude<Options[K], undefined> } = {
  readonly: false,
  exclusive: false,
  timeout: 60_000,
  fuel: 200_000_000_000,
  memory: 256 * MIB,
  disk: 1024 * MIB,
  rows: 200,
  maxRows: 10_000,
  text: 48_000,
  cell: 2_000,
  request: MIB,
  reply: 8 * MIB,
  tools: "all",
  strict: false,
  undo: true,
  undoMemory: 64 * MIB,
  notes: "",
};
const LEAST: Partial<Record<keyof Options, number>> = { memory: 16 * MIB, text: 1000, cell: 16 };
const MOST: Partial<Record<keyof Options, number>> = { memory: MOST_MEMORY };

/** Every option with a value. */
export type Chosen = typeof DEFAULTS;
/** The names of all options. */
export const OPTIONS = Object.keys(DEFAULTS) as (keyof Options)[];

/** Fills in the defaults. Throws for what is no such option, or no value of it. */
export function choose(options: Options): Chosen {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in DEFAULTS)) throw new TypeError(`There is no option ${name}. There are: ${OPTIONS.join(", ")}.`);
    if (value === undefined) continue;
    const key = name as keyof Options;
    const wanted = typeof DEFAULTS[key];
    if (typeof value !== wanted && !(key === "undo" && value === "required")) {
      throw new TypeError(`The option ${name} takes a ${wanted}, not ${String(value)}.`);
    }
    const least = LEAST[key] ?? 1;
    const most = MOST[key] ?? Number.MAX_SAFE_INTEGER;
    if (typeof value === "number" && !(Number.isSafeInteger(value) && value >= least && value <= most)) {
      throw new RangeError(`The option ${name} takes a whole number from ${least} to ${most}, not ${value}.`);
    }
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** What the guest is told of them: `server-settings` of `wit/types.wit`. `writable`: whether the place can be written. */
export function settings(chosen: Chosen, title: string, inMemory: boolean, writable: boolean) {
  const readonly = chosen.readonly || !writable;
  const undo =
    chosen.undo && !readonly
      ? { file: RECORD, bytes: BigInt(chosen.undoMemory), required: chosen.undo === "required" }
      : undefined;
  return {
    engine: {
      database: DATABASE,
      title,
      inMemory,
      readonly,
      root: false,
      notes: chosen.notes,
      undo,
      limits: {
        memoryBytes: BigInt(chosen.memory),
        diskBytes: BigInt(chosen.disk),
        busyMs: 0,
        sqlBytes: BigInt(Math.max(chosen.request, chosen.memory / 8)),
        fuel: BigInt(chosen.fuel),
      },
    },
    output: {
      replyBytes: BigInt(chosen.reply),
      textBytes: chosen.text,
      cellChars: chosen.cell,
      rows: Math.min(chosen.rows, chosen.maxRows),
      maxRows: chosen.maxRows,
    },
    requestBytes: BigInt(chosen.request),
    tools: chosen.tools,
    strict: chosen.strict,
    audit: false,
    threads: false,
  };
}
export type Settings = ReturnType<typeof settings>;
