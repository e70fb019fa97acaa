/**
 * A SQLite database behind glass: SQL and the Model Context Protocol in a worker that has no file, no clock and no
 * network but what it is given.
 *
 * ```js
 * import { open } from "sqlarium";
 * const db = await open(":memory:");
 * await db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
 * const { rows } = await db.query("SELECT sum(a) FROM t");
 * await db.close();
 * ```
 */

import { CLOSED } from "./control.js";
import type { Port, Request, Said, Source, Start, Triaged } from "./messages.js";
import { choose, type Options } from "./options.js";
import type { Modules } from "./session.js";

export type { Options };

/** A value of SQL as JSON carries it: integers beyond 2^53 and blobs come as text. */
export type Value = string | number | null;

/** What a query answers. */
export interface Rows {
  columns: { name: string; type: string }[];
  rows: Value[][];
  /** How many rows these are. */
  row_count: number;
  /** Whether there are more than were asked for. */
  more: boolean;
  elapsed_ms: number;
  fuel: number;
  /** The most memory that the call took, in bytes. */
  peak_memory: number;
}

/** What any tool answers; which members there are depends on the tool. */
export interface Result {
  ok: true;
  command: string;
  elapsed_ms: number;
  fuel: number;
  /** The most memory that the call took, in bytes. */
  peak_memory: number;
  [member: string]: unknown;
}

/** A tool as `tools/list` declares it. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: { type: "object"; properties?: Record<string, unknown>; required?: string[] };
  annotations?: Record<string, boolean>;
}

/** How one call differs from others. */
export interface CallOptions {
  /** Takes the call back. See {@link Database.cancellation} for when that takes effect. */
  signal?: AbortSignal;
  /** Called about once a second while the call runs, with a number that rises. */
  onProgress?: (progress: number, message: string | undefined) => void;
}

/** What a tool refused, and why. */
export class SqlariumError extends Error {
  /** The kind of refusal: `sql_error`, `constraint`, `readonly`, `interrupted` and so on. */
  readonly status: string;

  constructor(status: string, message: string) {
    super(message);
    this.name = "SqlariumError";
    this.status = status;
  }
}

/** What differs between Node and a browser. */
export interface Platform {
  /** Starts a worker; `failed` is called if it dies. */
  start(failed: (error: Error) => void): Port & { terminate(): void };
  modules(): Promise<Modules>;
}

interface Waiting {
  request: Request;
  line: Uint8Array | undefined;
  number: number;
  cancelled?: boolean;
  /** The line that ran when triage left this one in the queue. */
  deferred?: Waiting | undefined;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
/** Bytes of a line that is too long which say whose it is. */
const HEAD = 4096;

/** A worker that answers one question at a time. */
class Worker {
  readonly #port: Port & { terminate(): void };
  #asked: { resolve: (value: never) => void; reject: (error: Error) => void } | undefined;
  #died: Error | undefined;

  constructor(platform: Platform, said: (said: Said) => void) {
    const settle = (error: Error) => {
      this.#asked?.reject(error);
      this.#asked = undefined;
    };
    this.#port = platform.start((error) => settle((this.#died = error)));
    this.#port.listen((taken) => {
      const message = taken as Said;
      if (message.kind === "done") {
        this.#asked?.resolve(message.value as never);
        this.#asked = undefined;
      } else if (message.kind === "failed") {
        settle(Object.assign(new Error(message.message), { name: message.name }));
      } else {
        said(message);
      }
    });
  }

  ask<T>(request: Start | Request): Promise<T> {
    if (this.#died) return Promise.reject(this.#died);
    return new Promise<T>((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#port.post(request);
    });
  }

  terminate(): void {
    this.#port.terminate();
    this.#asked?.reject(new Error("The database is closed."));
    this.#asked = undefined;
  }
}

/** An open database. Lines and calls are answered one at a time, in order. */
export class Database {
  /**
   * When a call that is taken back ends: `immediate`, or only at its `deadline` in a page that is not
   * cross-origin isolated, which cannot share memory with a worker.
   */
  readonly cancellation: "immediate" | "deadline";
  /** Called with each line that the server sends ahead of an answer. */
  onnotify: ((line: string) => void) | undefined;
  /** Called with what the owner should know: warnings, those of the start too, and why a call was aborted. */
  get onlog(): ((text: string) => void) | undefined {
    return this.#onlog;
  }
  set onlog(log: ((text: string) => void) | undefined) {
    this.#onlog = log;
    if (log) this.#early.splice(0).forEach(log);
  }

  #onlog: ((text: string) => void) | undefined;
  /** What was said before anybody listened. */
  readonly #early: string[] = [];
  readonly #platform: Platform;
  readonly #start: Start;
  readonly #worker: Worker;
  readonly #cell: Int32Array | undefined;
  readonly #queue: Waiting[] = [];
  readonly #progress = new Map<string, CallOptions["onProgress"]>();
  #running: Waiting | undefined;
  #triage: Promise<Worker> | undefined;
  /** Lines that are being triaged. */
  #arriving = 0;
  #arrival: Promise<void> = Promise.resolve();
  #state: Uint8Array = new Uint8Array(0);
  #number = 0;
  #closed: Promise<void> | undefined;

  private constructor(platform: Platform, start: Start) {
    this.#platform = platform;
    this.#start = start;
    this.#cell = start.cell;
    this.cancellation = start.cell ? "immediate" : "deadline";
    this.#worker = new Worker(platform, (said) => this.#heard(said));
  }

  /** @internal */
  static async open(platform: Platform, source: Source, title: string, options: Options): Promise<Database> {
    const chosen = choose(options);
    const modules = await platform.modules();
    const cell = typeof SharedArrayBuffer === "undefined" ? undefined : new Int32Array(new SharedArrayBuffer(4));
    const start: Start = { kind: "start", source, title, options: chosen, modules, cell };
    const database = new Database(platform, start);
    try {
      await database.#worker.ask(start);
    } catch (error) {
      database.#worker.terminate();
      throw error;
    }
    return database;
  }

  /** Answers one line of MCP, without its newline; `undefined` is silence, as a notification gets it. */
  answer(line: string | Uint8Array): Promise<string | undefined> {
    return this.#submit(line, undefined);
  }

  #submit(line: string | Uint8Array, signal: AbortSignal | undefined): Promise<string | undefined> {
    const bytes = typeof line === "string" ? new TextEncoder().encode(line) : line;
    const number = (this.#number = (this.#number % 0x7fffffff) + 1);
    return new Promise<string | undefined>((resolve, reject) => {
      const long = bytes.length > this.#start.options.request;
      const waiting: Waiting = {
        request: long ? { kind: "overlong", head: bytes.slice(0, HEAD) } : { kind: "answer", line: bytes, number },
        line: long ? undefined : bytes,
        number,
        resolve,
        reject,
      };
      signal?.addEventListener("abort", () => this.#cancel(waiting));
      if (long || (!this.#running && this.#arriving === 0)) this.#enqueue(waiting);
      else this.#arrive(waiting);
    });
  }

  /** Calls a tool by its name without `sqlarium_`. Throws a {@link SqlariumError} if it refuses. */
  async call(tool: string, args: object = {}, { signal, onProgress }: CallOptions = {}): Promise<Result> {
    signal?.throwIfAborted();
    const id = `call ${(this.#number += 1)}`;
    const _meta = onProgress ? { ...META, progressToken: id } : META;
    const params = { name: `sqlarium_${tool}`, arguments: { ...args, output: "json" }, _meta };
    this.#progress.set(id, onProgress);
    try {
      const reply = await this.#send({ jsonrpc: "2.0", id, method: "tools/call", params }, signal);
      if (!reply) {
        signal?.throwIfAborted();
        throw new SqlariumError("interrupted", "The call was cancelled.");
      }
      if (reply.error) throw new SqlariumError("protocol", String(reply.error.message));
      const object = reply.result.structuredContent ?? {};
      if (reply.result.isError) throw refusal(object, reply.result.content);
      return object as Result;
    } finally {
      this.#progress.delete(id);
    }
  }

  /** Runs one statement that reads. `params`: for `?1`, by position, or for `:name`, by name. */
  async query(
    sql: string,
    params?: readonly unknown[] | Record<string, unknown>,
    options: CallOptions & { limit?: number } = {},
  ): Promise<Rows> {
    const { limit } = options;
    return (await this.call("query", { sql, ...(params && { params }), ...(limit && { limit }) }, options)) as unknown as Rows;
  }

  /** Runs statements, all of them or none. */
  exec(sql: string, options: CallOptions = {}): Promise<Result> {
    return this.call("batch", { sql }, options);
  }

  /** The tools that are served. */
  async tools(): Promise<Tool[]> {
    const reply = await this.#send({ jsonrpc: "2.0", id: "tools", method: "tools/list", params: { _meta: META } });
    return reply?.result.tools as Tool[];
  }

  /** The bytes of the database file as it stands. */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#ask({ kind: "copy" });
  }

  /** Stops the call that runs, closes the database and ends the worker. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    if (this.#cell) Atomics.store(this.#cell, 0, CLOSED);
    const closing = this.#ask({ kind: "close" });
    try {
      await closing;
    } finally {
      this.#worker.terminate();
      void this.#triage?.then((triage) => triage.terminate());
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #send(message: object, signal?: AbortSignal): Promise<any> {
    const reply = await this.#submit(JSON.stringify(message), signal);
    return reply === undefined ? undefined : JSON.parse(reply);
  }

  #ask<T>(request: Request): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#enqueue({ request, line: undefined, number: 0, resolve, reject });
    });
  }

  #enqueue(waiting: Waiting): void {
    if (waiting.cancelled) return waiting.resolve(undefined as never);
    if (this.#closed && waiting.request.kind !== "close") return waiting.reject(new Error("The database is closed."));
    this.#queue.push(waiting);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#running = next;
      try {
        next.resolve(await this.#worker.ask<never>(next.request));
      } catch (error) {
        next.reject(error as Error);
      }
      this.#running = undefined;
    }
  }

  /** A line has come while another one is being answered. */
  #arrive(waiting: Waiting): void {
    this.#arriving += 1;
    void this.#inOrder(async () => {
      const running = this.#running;
      let sorted = false;
      let state: Uint8Array | undefined;
      // A batch may go on meanwhile.
      while (running && !sorted && state !== this.#state && running === this.#running) {
        state = this.#state;
        sorted = await this.#sort(waiting, running).catch(() => false);
      }
      this.#arriving -= 1;
      if (sorted) return;
      waiting.deferred = running;
      this.#enqueue(waiting);
    });
  }

  /** A batch has gone on: what waits may be about the member that runs now. */
  #goneOn(): void {
    const running = this.#running;
    if (!running || !this.#queue.some((waiting) => waiting.deferred === running)) return;
    void this.#inOrder(async () => {
      for (const waiting of this.#queue.filter((waiting) => waiting.deferred === running)) {
        if (this.#running !== running) return;
        const sorted = await this.#sort(waiting, running).catch(() => false);
        const index = this.#queue.indexOf(waiting);
        if (sorted && index >= 0) this.#queue.splice(index, 1);
      }
    });
  }

  /** Lines are triaged one after the other, so that none overtakes another. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    return (this.#arrival = this.#arrival.then(work));
  }

  /** Whether a line is dealt with while another one runs. */
  async #sort(waiting: Waiting, running: Waiting): Promise<boolean> {
    if (!running.line || !waiting.line) return false;
    const worker = await (this.#triage ??= this.#startTriage());
    const queue = this.#queue.filter((other) => other.line && other !== waiting);
    const queued = queue.map((other) => other.line as Uint8Array);
    const triaged = await worker.ask<Triaged>({
      kind: "triage",
      line: waiting.line,
      state: this.#state,
      running: running.line,
      queued,
    });
    switch (triaged.tag) {
      case "defer":
        return false;
      case "handled":
        waiting.resolve(triaged.val as never);
        return true;
      case "cancel-running":
        this.#cancel(running);
        break;
      case "cancel-queued": {
        const other = queue[triaged.val];
        // If its turn has come meanwhile, the cancellation is late.
        if (other && other !== this.#running) this.#cancel(other);
      }
    }
    waiting.resolve(undefined as never);
    return true;
  }

  /** Takes back a line that runs, waits, or is on its way; one that is answered is not there any more. */
  #cancel(waiting: Waiting): void {
    waiting.cancelled = true;
    if (this.#running === waiting) {
      if (this.#cell) Atomics.store(this.#cell, 0, waiting.number);
      return;
    }
    const index = this.#queue.indexOf(waiting);
    if (index >= 0) this.#queue.splice(index, 1)[0]?.resolve(undefined as never);
  }

  async #startTriage(): Promise<Worker> {
    const worker = new Worker(this.#platform, (said) => said.kind === "log" && this.#heard(said));
    await worker.ask({ ...this.#start, source: { place: "nowhere" }, cell: undefined });
    return worker;
  }

  #log(text: string): void {
    if (this.#onlog) this.#onlog(text);
    else if (this.#early.length < 100) this.#early.push(text);
  }

  #heard(said: Said): void {
    if (said.kind === "state") {
      this.#state = said.state;
      this.#goneOn();
    } else if (said.kind === "log") this.#log(said.text);
    else if (said.kind === "notify") {
      const { params } = JSON.parse(said.line);
      const onProgress = this.#progress.get(params?.progressToken);
      if (onProgress) onProgress(params.progress, params.message);
      else this.onnotify?.(said.line);
    }
  }
}

function refusal(object: { status?: string; message?: string; hint?: string }, content: { text?: string }[]): SqlariumError {
  const { status = "error", message, hint } = object;
  const text = content.map((block) => block.text ?? "").join("\n");
  return new SqlariumError(status, message ? [message, hint].filter(Boolean).join(" ") : text);
}
