/** The import `control`: the budgets of the call that runs, and what it says meanwhile. */

/** What `server.interruption` is. */
export type Interruption = { tag: "cancelled" } | { tag: "stopped"; val: string };
/** What `control.verdict` is. */
export type Verdict = { tag: "proceed"; val: bigint } | { tag: "cancelled" } | { tag: "stop"; val: string };

/** Thrown out of an import to end the call, at the price of its instance. */
export class Abort extends Error {
  readonly reason: Interruption;

  constructor(sentence: string) {
    super(sentence);
    this.reason = { tag: "stopped", val: sentence };
  }
}

/** What one call may use. Time in milliseconds, memory in bytes. */
export interface Budget {
  timeout: number;
  fuel: number;
  memory: number;
}

const ADVICE = "Ask for less, or split the work.";
export const FAULT =
  "Stopped: the sandbox failed during this call and was restarted. Everything that was committed is safe; an open " +
  "transaction was rolled back. Try the call in smaller steps.";
export const TOO_DEEP =
  "Stopped: the call nests deeper than the sandbox's stack allows. Use fewer levels of subqueries, views, brackets " +
  "or wildcards.";
const CLOSING = "Stopped: the server is shutting down.";

/** What the cell holds that both sides see, when the session is being closed. */
export const CLOSED = -1;
/** About a millisecond, or less. */
const SLICE = 200_000n;
const CALL_BEGINS = -(1n << 63n);
/** How long a call that was told to stop may take to end in good order. */
const GRACE = 1000;
const LONGEST_WAIT = 1000;

/** As the program says it: the guest names budgets by its flags, too. */
function time(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}

/** One session's side. */
export class Control {
  readonly #notify: (line: string) => void;
  readonly #save: (state: Uint8Array) => void;
  readonly #most: number;
  /** Holds the number of the call that is cancelled, if the page may share memory. */
  readonly #cell: Int32Array | undefined;
  #budget: Budget = { timeout: 0, fuel: 0, memory: 0 };
  #call = 0;
  #began = 0;
  #granted = 0n;
  #spent = 0;
  /** What was said on a triaging instance's behalf. */
  lines: { running?: Uint8Array; queued: Uint8Array[] } = { queued: [] };
  /** The saved state. */
  state: Uint8Array = new Uint8Array(0);
  /** Why the call was aborted. */
  aborted: Interruption | undefined;
  /** The memory of the instance, once it is there. */
  memory: WebAssembly.Memory | undefined;

  /** `most`: the longest state, in bytes. */
  constructor(most: number, notify: (line: string) => void, save: (state: Uint8Array) => void, cell?: Int32Array) {
    this.#most = most;
    this.#notify = notify;
    this.#save = save;
    this.#cell = cell;
  }

  /** A call begins. `number` is what the cell has to hold to cancel it. */
  begin(budget: Budget, number: number): void {
    this.#budget = budget;
    this.#call = number;
    this.#began = performance.now();
    this.#granted = 0n;
    this.#spent = 0;
    this.aborted = undefined;
  }

  /** The running call cannot go on: to be thrown. */
  abort(sentence: string): Abort {
    const abort = new Abort(sentence);
    this.aborted ??= abort.reason;
    return abort;
  }

  #elapsed(): number {
    return performance.now() - this.#began;
  }

  #verdict(elapsed: number): Verdict {
    const { timeout, fuel } = this.#budget;
    const said = this.#cell ? Atomics.load(this.#cell, 0) : 0;
    if (said === CLOSED) return { tag: "stop", val: CLOSING };
    if (said !== 0 && said === this.#call) return { tag: "cancelled" };
    if (elapsed >= timeout) return { tag: "stop", val: this.#outOfTime() };
    if (this.#spent > fuel - Math.min(fuel / 10, 7e6)) return { tag: "stop", val: this.#outOfFuel() };
    return { tag: "proceed", val: BigInt(Math.round(elapsed * 1000)) };
  }

  #outOfTime(): string {
    return `Stopped: the call reached its time budget of ${time(this.#budget.timeout)} (--timeout). ${ADVICE}`;
  }

  #outOfFuel(): string {
    return `Stopped: the call reached its work budget of ${this.#budget.fuel} fuel (--fuel). ${ADVICE}`;
  }

  check(): Verdict {
    return this.#verdict(this.#elapsed());
  }

  wait(ms: number): Verdict {
    const until = this.#elapsed() + Math.min(ms, LONGEST_WAIT);
    for (;;) {
      const elapsed = this.#elapsed();
      const verdict = this.#verdict(elapsed);
      if (verdict.tag !== "proceed" || elapsed >= until || !this.#cell) return verdict;
      Atomics.wait(this.#cell, 0, Atomics.load(this.#cell, 0), Math.min(until - elapsed, 10));
    }
  }

  usage() {
    const elapsed = this.#elapsed();
    return {
      fuel: BigInt(Math.max(0, this.#spent)),
      timeUs: BigInt(Math.round(elapsed * 1000)),
      verdict: this.#verdict(elapsed),
    };
  }

  meter(left: bigint): bigint {
    if (left !== CALL_BEGINS) {
      if (left > this.#granted) throw this.abort(FAULT);
      this.#spent += Number(this.#granted - left);
    }
    if (this.#spent > this.#budget.fuel) throw this.abort(this.#outOfFuel());
    if (this.#elapsed() > this.#budget.timeout + GRACE) throw this.abort(this.#outOfTime());
    if ((this.memory?.buffer.byteLength ?? 0) > this.#budget.memory) {
      throw this.abort(
        `Stopped: the call needed more than the memory budget of ${this.#budget.memory} bytes (--memory). ` +
          "Ask for smaller values or fewer rows at a time.",
      );
    }
    this.#granted = SLICE;
    return SLICE;
  }

  notify(line: string): void {
    if (line.includes("\n") || line.length >= this.#most) throw this.abort(FAULT);
    this.#notify(line);
  }

  saveState(state: Uint8Array): void {
    if (state.length > this.#most) throw this.abort(FAULT);
    this.state = new Uint8Array(state);
    this.#save(this.state);
  }

  extendState(part: Uint8Array): void {
    const whole = new Uint8Array(this.state.length + part.length);
    whole.set(this.state);
    whole.set(part, this.state.length);
    this.saveState(whole);
  }

  running(): Uint8Array | undefined {
    return this.lines.running;
  }

  queued(index: number): Uint8Array | undefined {
    return this.lines.queued[index];
  }

  /** The offset of local time from UTC, in seconds. */
  offsetAt(seconds: bigint): number {
    const minutes = new Date(Number(seconds) * 1000).getTimezoneOffset();
    return Number.isNaN(minutes) ? 0 : Math.round(-60 * minutes);
  }
}
