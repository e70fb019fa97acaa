// The package in Node. `make web` builds it; SQLARIUM_WEB says where it lies.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const home = resolve(process.env.SQLARIUM_WEB ?? join(dirname(fileURLToPath(import.meta.url)), "../../target/web"));
const { open, SqlariumError } = await import(pathToFileURL(join(home, "node.js")).href);

const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
// Minutes in one call of one function, where SQLite does not look around.
const DEAF = "SELECT instr(hex(zeroblob(1000000)), hex(zeroblob(500000)) || '1')";
const folder = mkdtempSync(join(tmpdir(), "sqlarium-"));
after(() => rmSync(folder, { recursive: true }));

/** A database that ends with the test. */
async function opened(context, source = ":memory:", options = {}) {
  const database = await open(source, options);
  context.after(() => database.close());
  return database;
}

test("a query answers rows, with parameters by position and by name", async (context) => {
  const db = await opened(context);
  await db.exec("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
  const { rows, columns } = await db.query("SELECT b, a FROM t WHERE a >= ?1 ORDER BY a", [1]);
  assert.deepEqual(rows, [["one", 1], ["two", 2]]);
  assert.deepEqual(columns.map((column) => column.name), ["b", "a"]);
  assert.deepEqual((await db.query("SELECT a FROM t WHERE b = :b", { b: "two" })).rows, [[2]]);
});

test("what is refused is an error with a status and a sentence", async (context) => {
  const db = await opened(context, ":memory:", { readonly: true });
  await assert.rejects(db.query("SELEC 1"), (error) => error instanceof SqlariumError && error.status === "syntax");
  await assert.rejects(db.exec("CREATE TABLE t (a)"), /not served with --readonly/);
});

test("lines go in and come out, and the tools are listed", async (context) => {
  const db = await opened(context, ":memory:", { tools: "query,tables" });
  assert.deepEqual(JSON.parse(await db.answer('{"jsonrpc":"2.0","id":1,"method":"ping"}')).result, {});
  assert.equal(await db.answer('{"jsonrpc":"2.0","method":"notifications/initialized"}'), undefined);
  assert.deepEqual((await db.tools()).map((tool) => tool.name), ["sqlarium_query", "sqlarium_tables"]);
});

test("an option that does not exist, or has no such value, is refused with a sentence", async () => {
  await assert.rejects(open(":memory:", { readOnly: true }), /There is no option readOnly\. There are: readonly,/);
  await assert.rejects(open(":memory:", { timeout: "1s" }), /timeout takes a number, not 1s/);
  await assert.rejects(open(":memory:", { memory: 2 ** 40 }), /memory takes a whole number from 16777216 to 1073741824/);
  await assert.rejects(open(":memory:", { tools: "nothing" }), /nothing/);
});

test("a call that is taken back ends at once, and the next one is answered", async (context) => {
  const db = await opened(context);
  assert.equal(db.cancellation, "immediate");
  const began = performance.now();
  const taken = [50, 20].map((ms) => {
    return assert.rejects(db.query(ENDLESS, [], { signal: AbortSignal.timeout(ms) }), { name: "TimeoutError" });
  });
  const next = db.query("SELECT 1");
  await Promise.all(taken);
  assert.deepEqual((await next).rows, [[1]]);
  assert.ok(performance.now() - began < 10_000);
});

test("a call reports progress, and ends at its deadline", async (context) => {
  const db = await opened(context, ":memory:", { timeout: 2200 });
  const seen = [];
  await assert.rejects(
    db.query(ENDLESS, [], { onProgress: (progress) => seen.push(progress) }),
    (error) => error.status === "interrupted" && error.message.includes("time budget of 2200 ms (--timeout)"),
  );
  assert.ok(seen.length >= 1 && seen.every((value, index) => index === 0 || value > seen[index - 1]), `${seen}`);
});

test("a call that does not look around is aborted by the meter, and what was committed stays", async (context) => {
  const db = await opened(context, ":memory:", { timeout: 300 });
  const log = [];
  db.onlog = (text) => log.push(text);
  await db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
  await assert.rejects(db.call("exec", { sql: `UPDATE t SET a = (${DEAF})` }), (error) => error.status === "interrupted");
  assert.deepEqual((await db.query("SELECT sum(a) FROM t")).rows, [[3]]);
});

test("a database comes from bytes and goes into bytes", async (context) => {
  const first = await opened(context);
  await first.exec("CREATE TABLE t (a); INSERT INTO t VALUES (42)");
  const bytes = await first.bytes();
  assert.equal(Buffer.from(bytes.subarray(0, 15)).toString(), "SQLite format 3");
  const second = await opened(context, bytes);
  await second.exec("UPDATE t SET a = a + 1");
  assert.deepEqual((await second.query("SELECT a FROM t")).rows, [[43]]);
  assert.deepEqual((await first.query("SELECT a FROM t")).rows, [[42]]);
  const third = await opened(context, new Blob([bytes]));
  assert.deepEqual((await third.query("SELECT a FROM t")).rows, [[42]]);
});

test("a file on disk is written by its owner alone, and else only read", async (context) => {
  const path = join(folder, "app.db");
  await assert.rejects(open(path), /There is no file .*app\.db\. To make one, say that it is yours alone: exclusive\./);
  const mine = await open(path, { exclusive: true });
  await mine.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  await mine.close();
  const shared = await opened(context, path);
  assert.deepEqual((await shared.query("SELECT a FROM t")).rows, [[1]]);
  await assert.rejects(shared.exec("DELETE FROM t"), /not served with --readonly/);
  const before = readFileSync(path);
  writeFileSync(`${path}-journal`, "of a writer that is at work");
  await assert.rejects(shared.query("SELECT a FROM t"), /a journal lies beside the database/);
  rmSync(`${path}-journal`);
  assert.deepEqual((await shared.query("SELECT a FROM t")).rows, [[1]]);
  assert.deepEqual(readFileSync(path), before);
});

test("an answer is withheld if somebody wrote while it was read", async (context) => {
  const path = join(folder, "busy.db");
  const mine = await open(path, { exclusive: true });
  await mine.exec("CREATE TABLE t (a); INSERT INTO t SELECT value FROM generate_series(1, 1000)");
  await mine.close();
  const shared = await opened(context, path);
  // Touched in the middle of a query that takes a while.
  const long = shared.query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT count(*), (SELECT sum(a) FROM t) FROM n",
  );
  setTimeout(() => writeFileSync(path, readFileSync(path)), 100);
  await assert.rejects(long, /another program wrote to the database while it was read/);
  assert.deepEqual((await shared.query("SELECT sum(a) FROM t")).rows, [[500500]]);
});

test("the disk budget holds for a file", async (context) => {
  const path = join(folder, "full.db");
  const db = await opened(context, path, { exclusive: true, disk: 1 << 20, undo: false });
  await db.exec("CREATE TABLE t (a)");
  await assert.rejects(
    db.call("exec", { sql: "INSERT INTO t SELECT randomblob(10000) FROM generate_series(1, 1000)" }),
    (error) => error.status === "full",
  );
  assert.ok(statSync(path).size < 1 << 20);
  assert.deepEqual((await db.query("SELECT count(*) FROM t")).rows, [[0]]);
});

test("closing stops the call that runs, and later calls are refused", async () => {
  const db = await open(":memory:");
  const running = db.query(ENDLESS);
  const closed = db.close();
  await assert.rejects(running, /shutting down/);
  await closed;
  await assert.rejects(db.query("SELECT 1"), /The database is closed\./);
});
