/** A session of a client: lines in, lines out, and a line for what was aborted. */

import { Abort, Control, FAULT, TOO_DEEP, type Budget, type Interruption } from "./control.js";
import { controlImports, storageImports } from "./lower.js";
import type { Settings } from "./options.js";
import type { Storage } from "./storage/storage.js";
import { wasiImports } from "./wasi.js";

/** What jco makes of the component's exports. */
interface Server {
  Session: new (settings: Settings, state: Uint8Array) => GuestSession;
  check(settings: Settings): string[];
}
interface GuestSession extends Disposable {
  answer(line: Uint8Array): string | undefined;
  triage(line: Uint8Array): Triaged;
  interrupted(line: Uint8Array, reason: Interruption): string | undefined;
  overlong(head: Uint8Array): string;
}
export type Triaged =
  | { tag: "defer" }
  | { tag: "handled"; val: string | undefined }
  | { tag: "cancel-running" }
  | { tag: "cancel-queued"; val: number };

/** The code of the component, compiled, by the names that jco gives it. */
export type Modules = Record<string, WebAssembly.Module>;
/** The function that jco generates. */
export type Instantiate = (
  module: (name: string) => WebAssembly.Module,
  imports: object,
  instantiate: (module: WebAssembly.Module, imports: WebAssembly.Imports) => WebAssembly.Instance,
) => { server: Server };

/** For a line that is not answered but triaged, or answered for an instance that was aborted: V8 compiles meanwhile. */
const SMALL = { timeout: 3000, fuel: 15e6 };

/** One instance after the other. */
export class Session {
  readonly #instantiate: Instantiate;
  readonly #modules: Modules;
  readonly #settings: Settings;
  readonly #budget: Budget;
  readonly #storage: Storage;
  readonly #control: Control;
  readonly #log: (text: string) => void;
  #server: Server | undefined;
  #session: GuestSession | undefined;

  constructor(
    code: { instantiate: Instantiate; modules: Modules },
    settings: Settings,
    budget: Budget,
    storage: Storage,
    control: Control,
    log: (text: string) => void,
  ) {
    this.#instantiate = code.instantiate;
    this.#modules = code.modules;
    this.#settings = settings;
    this.#budget = budget;
    this.#storage = storage;
    this.#control = control;
    this.#log = log;
  }

  /** Warnings for the owner. Throws if these settings cannot be served. */
  check(): string[] {
    this.#control.begin(this.#budget, 0);
    try {
      return this.#instance().check(this.#settings);
    } catch (error) {
      // jco wraps the guest's sentence.
      const payload = (error as { payload?: unknown }).payload;
      throw typeof payload === "string" ? new Error(payload) : error;
    }
  }

  /** The reply to a line, if there is one. `number` is what cancels it. Throws if nothing can be said. */
  answer(line: Uint8Array, number: number): string | undefined {
    try {
      this.#control.begin(this.#budget, number);
      return this.#sendable(this.#guest().answer(line));
    } catch (error) {
      return this.#interrupted(line, this.#reason(error));
    }
  }

  #interrupted(line: Uint8Array, reason: Interruption): string | undefined {
    // It may be the state that it fails on.
    for (const state of [this.#control.state, new Uint8Array(0)]) {
      this.#drop();
      this.#control.state = state;
      try {
        this.#begin(line);
        return this.#sendable(this.#guest().interrupted(line, reason));
      } catch (error) {
        this.#reason(error);
      }
    }
    throw new Error("The sandbox has no reply for a call that was aborted.");
  }

  /** What to do with a line that arrives while another instance answers `running`. */
  triage(line: Uint8Array, state: Uint8Array, running: Uint8Array, queued: Uint8Array[]): Triaged {
    this.#forget();
    this.#control.state = state;
    this.#control.lines = { running, queued };
    try {
      this.#begin(line);
      const triaged = this.#guest().triage(line);
      if (triaged.tag === "handled") this.#sendable(triaged.val);
      return triaged;
    } catch (error) {
      this.#reason(error);
      this.#drop();
      return { tag: "defer" };
    }
  }

  /** The refusal of a line that is too long, of which this is the start. */
  overlong(head: Uint8Array): string | undefined {
    this.#begin(head);
    try {
      return this.#sendable(this.#guest().overlong(head));
    } catch (error) {
      this.#reason(error);
      this.#drop();
      this.#begin(head);
      return this.#sendable(this.#guest().overlong(head));
    }
  }

  /** Closes the databases. */
  close(): void {
    this.#forget();
    this.#drop();
  }

  #forget(): void {
    if (!this.#session) return;
    this.#begin(new Uint8Array(0));
    try {
      this.#session[Symbol.dispose]();
    } catch (error) {
      this.#reason(error);
    }
    this.#session = undefined;
  }

  /** A call with a small budget begins, in which there is no time for making an instance. */
  #begin(line: Uint8Array): void {
    this.#control.begin(this.#budget, 0);
    this.#instance();
    this.#control.begin({ ...SMALL, fuel: SMALL.fuel + 2 * line.length, memory: this.#budget.memory }, 0);
  }

  /** A reply that is one line and short enough, or silence. */
  #sendable(reply: string | undefined): string | undefined {
    if (reply !== undefined && (reply.includes("\n") || reply.length >= this.#settings.output.replyBytes)) {
      throw new Abort(FAULT);
    }
    return reply;
  }

  /** Why a call was aborted. */
  #reason(error: unknown): Interruption {
    const reason = this.#control.aborted ?? (error instanceof Abort ? error.reason : undefined);
    if (reason) return reason;
    this.#log(`aborted: ${String(error)}`);
    const deep = String(error).includes("call stack");
    return { tag: "stopped", val: deep ? TOO_DEEP : FAULT };
  }

  #drop(): void {
    this.#server = undefined;
    this.#session = undefined;
    this.#control.memory = undefined;
    this.#storage.abandon();
  }

  #guest(): GuestSession {
    const server = this.#instance();
    return (this.#session ??= new server.Session(this.#settings, this.#control.state));
  }

  #instance(): Server {
    if (this.#server) return this.#server;
    const imports = {
      "sqlarium:sandbox/storage": storageImports(this.#storage),
      "sqlarium:sandbox/control": controlImports(this.#control),
      "sqlarium:sandbox/shared-memory": unsupported("barrier", "lock", "mapRegion", "unmap"),
      "sqlarium:sandbox/direct-io": unsupported("read"),
      "sqlarium:sandbox/console": { print: () => false },
      "sqlarium:sandbox/audit": { begin() {}, end() {}, trouble: () => undefined },
      "sqlarium:sandbox/threads": { recall: () => [], append: () => false },
      ...wasiImports(this.#log),
    };
    const link = (module: WebAssembly.Module, core: WebAssembly.Imports) => {
      const instance = new WebAssembly.Instance(module, core);
      const { memory } = instance.exports;
      if (memory instanceof WebAssembly.Memory) this.#control.memory = memory;
      return instance;
    };
    const { server } = this.#instantiate((name) => this.#modules[name] as WebAssembly.Module, imports, link);
    return (this.#server = server);
  }
}

/** Functions that no call ever reaches, since `device` says so. */
function unsupported(...names: string[]) {
  const refuse = () => {
    throw Object.assign(new Error("unsupported"), { payload: "unsupported" });
  };
  return Object.fromEntries(names.map((name) => [name, refuse]));
}
