/** The WASI that Rust's standard library links: a clock, randomness, an error stream for last words, and nothing else. */

/** What is linked and never called. */
function never(): never {
  throw new Error("this host has no such thing");
}

class Never {
  static {
    Object.assign(Never.prototype, { block: never, subscribe: never });
  }
}

/** An output stream whose bytes go to the owner's log. */
class OutputStream {
  readonly #log: (text: string) => void;

  constructor(log: (text: string) => void) {
    this.#log = log;
  }

  checkWrite(): bigint {
    return 4096n;
  }

  write(bytes: Uint8Array): void {
    // Untrusted: it may hold what a terminal obeys.
    this.#log(new TextDecoder().decode(bytes).replace(/[^\x20-\x7e\n]/g, "?"));
  }

  blockingFlush(): void {}

  subscribe(): never {
    return never();
  }
}

function random(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n;
}

/** The imports by name. `log` gets what the guest says before it gives up. */
export function wasiImports(log: (text: string) => void) {
  class Pollable extends Never {}
  class InputStream extends Never {}
  class TerminalInput extends Never {}
  class TerminalOutput extends Never {}
  class IoError extends Never {}
  return {
    "wasi:cli/environment": { getEnvironment: () => [] },
    "wasi:cli/exit": { exit: never },
    "wasi:cli/stdin": { getStdin: never },
    "wasi:cli/stdout": { getStdout: never },
    "wasi:cli/stderr": { getStderr: () => new OutputStream(log) },
    "wasi:cli/terminal-input": { TerminalInput },
    "wasi:cli/terminal-output": { TerminalOutput },
    "wasi:cli/terminal-stdin": { getTerminalStdin: () => undefined },
    "wasi:cli/terminal-stdout": { getTerminalStdout: () => undefined },
    "wasi:cli/terminal-stderr": { getTerminalStderr: () => undefined },
    "wasi:clocks/monotonic-clock": { now: () => BigInt(Math.round(performance.now() * 1e6)) },
    "wasi:clocks/wall-clock": {
      now: () => {
        const ms = Date.now();
        return { seconds: BigInt(Math.floor(ms / 1000)), nanoseconds: (ms % 1000) * 1_000_000 };
      },
    },
    "wasi:io/error": { Error: IoError },
    "wasi:io/poll": { Pollable },
    "wasi:io/streams": { InputStream, OutputStream },
    "wasi:random/insecure-seed": { insecureSeed: () => [random(), random()] },
    "wasi:random/random": { getRandomU64: random },
  };
}
