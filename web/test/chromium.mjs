// Chromium by its pipe (the Chrome DevTools Protocol): nothing to install but the browser.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts the browser, with a profile of its own. */
export async function launch(program = process.env.CHROMIUM ?? "chromium") {
  const profile = mkdtempSync(join(tmpdir(), "sqlarium-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${profile}`];
  const child = spawn(program, [...flags, "--no-first-run", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , input, output] = child.stdio;
  const waiting = new Map();
  const listeners = new Set();
  let last = 0;
  let rest = "";
  output.on("data", (chunk) => {
    const messages = (rest + chunk).split("\0");
    rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      const answer = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) answer?.reject(new Error(message.error.message));
      else if (answer) answer.resolve(message.result);
      else for (const listener of listeners) listener(message);
    }
  });
  const send = (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });

  /** Opens a page; what it says on the console, and what goes wrong, is in `said`. */
  async function page(url, width = 1000) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const said = [];
    let loaded;
    listeners.add(({ method, params, sessionId: from }) => {
      if (from !== sessionId) return;
      if (method === "Runtime.consoleAPICalled") said.push(params.args.map((value) => value.value ?? value.description).join(" "));
      if (method === "Runtime.exceptionThrown") said.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded") said.push(params.entry.text);
      if (method === "Page.loadEventFired") loaded?.();
    });
    const on = (method, params) => send(method, params, sessionId);
    for (const domain of ["Runtime", "Log", "Page"]) await on(`${domain}.enable`);
    await on("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: false });
    const go = async (method, params) => {
      const done = new Promise((resolve) => (loaded = resolve));
      await on(method, params);
      await done;
    };
    await go("Page.navigate", { url });
    return {
      said,
      send: on,
      reload: () => go("Page.reload"),
      close: () => send("Target.closeTarget", { targetId }),
      /** Runs the body of an async function in the page, and answers what it returns. */
      async run(body) {
        const expression = `(async () => {${body}})()`;
        const { result, exceptionDetails } = await on("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true, userGesture: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
      },
    };
  }

  return {
    page,
    async close() {
      await send("Browser.close").catch(() => {});
      if (child.exitCode === null) await new Promise((resolve) => child.on("exit", resolve));
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
