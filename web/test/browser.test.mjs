// The package in Debian's Chromium: memory, the origin private file system, two tabs, a tab that dies in a write.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serve } from "../serve.mjs";
import { launch } from "./chromium.mjs";

const home = resolve(process.env.SQLARIUM_WEB ?? join(dirname(fileURLToPath(import.meta.url)), "../../target/web"));
const there = spawnSync(process.env.CHROMIUM ?? "chromium", ["--version"]).status === 0;
if (process.env.CI === "true") assert.ok(there, "chromium is not installed");
const options = { skip: there ? false : "chromium is not installed", timeout: 120_000 };

const OPEN = "const { open } = await import('/browser.js');";
const ENDLESS = "'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'";
let browser;
let server;

before(async () => {
  if (!there) return;
  server = await serve(home, { "/page.html": "<!doctype html><title>test</title><link rel=icon href=data:,>" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** A page that ends with the test, and has said nothing. */
async function page(context, path = "/page.html") {
  const opened = await browser.page(server.url + path);
  context.after(async () => {
    await opened.close();
    assert.deepEqual(opened.said, []);
  });
  return opened;
}

test("a database in memory answers, and a runaway query ends at its deadline", options, async (context) => {
  const tab = await page(context);
  const seen = await tab.run(`${OPEN}
    const db = await open(':memory:', { timeout: 1000 });
    await db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
    const error = await db.query(${ENDLESS}).catch((error) => error);
    const { rows } = await db.query('SELECT sum(a) FROM t');
    const bytes = await db.bytes();
    await db.close();
    return { rows, status: error.status, cancellation: db.cancellation, size: bytes.length };`);
  assert.deepEqual(seen, { rows: [[3]], status: "interrupted", cancellation: "deadline", size: 8192 });
});

test("in an isolated page a call that is taken back ends at once", options, async (context) => {
  const tab = await page(context, "/isolated/page.html");
  const seen = await tab.run(`const { open } = await import('/isolated/browser.js');
    const db = await open(':memory:');
    const error = await db.query(${ENDLESS}, [], { signal: AbortSignal.timeout(100) }).catch((error) => error);
    const { rows } = await db.query('SELECT 1');
    await db.close();
    return { rows, name: error.name, cancellation: db.cancellation };`);
  assert.deepEqual(seen, { rows: [[1]], name: "TimeoutError", cancellation: "immediate" });
});

test("a file of the origin private file system is there after a reload", options, async (context) => {
  const tab = await page(context);
  await tab.run(`${OPEN}
    const db = await open('kept.db');
    await db.exec("CREATE TABLE t (a); INSERT INTO t SELECT value FROM generate_series(1, 1000)");
    await db.close();`);
  await tab.reload();
  const rows = await tab.run(`${OPEN}
    const db = await open('kept.db', { readonly: true });
    const { rows } = await db.query('SELECT sum(a) FROM t');
    await db.close();
    return rows;`);
  assert.deepEqual(rows, [[500500]]);
});

test("a second tab is told that the database is open in another one", options, async (context) => {
  const [first, second] = [await page(context), await page(context)];
  await first.run(`${OPEN} window.db = await open('shared.db'); await window.db.exec("CREATE TABLE t (a)");`);
  const attempt = `${OPEN} return open('shared.db').then((db) => db.close(), (error) => error.message);`;
  assert.equal(await second.run(attempt), "The database shared.db is open in another tab. Close it there, and try again.");
  await first.run("await window.db.close();");
  assert.equal(await second.run(attempt), undefined);
});

test("a tab that dies in the middle of a write leaves a file that the next one rolls back", options, async (context) => {
  const tab = await page(context);
  await tab.run(`${OPEN}
    window.db = await open('crash.db', { memory: 24 << 20 });
    await window.db.exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'kept')");
    void window.db.call('exec', { sql: "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, hex(randomblob(500)) FROM n" });
    const folder = await navigator.storage.getDirectory();
    const size = async () => (await (await folder.getFileHandle('crash.db')).getFile()).size;
    while (await size() < 1e6) await new Promise((resolve) => setTimeout(resolve, 50));`);
  await tab.reload();
  const seen = await tab.run(`${OPEN}
    let db;
    // The worker that died may hold the file for a moment.
    for (let left = 100; !db; left -= 1) {
      db = await open('crash.db').catch((error) => { if (!left) throw error; });
      if (!db) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const [count, check] = [await db.query('SELECT count(*), sum(a) FROM t'), await db.query('PRAGMA integrity_check')];
    await db.close();
    return [count.rows, check.rows];`);
  assert.deepEqual(seen, [[[1, 1]], [["ok"]]]);
});
