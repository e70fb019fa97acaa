// The playground in Chromium, as its users meet it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { serve } from "../serve.mjs";
import { launch } from "./chromium.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const home = resolve(process.env.SQLARIUM_WEB ?? join(here, "../../target/web"));
const there = spawnSync(process.env.CHROMIUM ?? "chromium", ["--version"]).status === 0;
if (process.env.CI === "true") assert.ok(there, "chromium is not installed");
const options = { skip: there ? false : "chromium is not installed", timeout: 120_000 };

// Functions for the page: an element, and a wait for what it shows.
const HELP = `
  const $ = (id) => document.getElementById(id);
  const until = async (what) => {
    for (let left = 600; left; left -= 1) {
      const value = what();
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('it never came: ' + what + ' ' + document.body.innerText);
  };
  const shows = (id, text) => until(() => $(id).textContent.includes(text) && $(id).textContent);
  const ready = () => until(() => !$('run').disabled);
  const query = async (sql) => {
    $('tool').value = 'sqlarium_query';
    $('tool').dispatchEvent(new Event('change'));
    document.querySelector('[name=sql]').value = sql;
    $('form').requestSubmit();
    await until(() => !$('run').disabled);
  };`;
let browser;
let server;

before(async () => {
  if (!there) return;
  server = await serve(home);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** The playground with its first answer. */
async function playground(context, width) {
  const tab = await browser.page(`${server.url}/isolated/playground/`, width);
  context.after(async () => {
    await tab.close();
    assert.deepEqual(tab.said, [], "the console");
  });
  const run = (body) => tab.run(HELP + body);
  await run("await shows('grid', 'revenue'); await ready();");
  return { ...tab, run };
}

test("it opens with the sample shop, its tables and an answer", options, async (context) => {
  const tab = await playground(context);
  const seen = await tab.run("return { tables: $('tables').innerText, rows: document.querySelectorAll('tbody tr').length, used: $('used').textContent };");
  assert.match(seen.tables, /customers \(4\)/);
  assert.equal(seen.rows, 5);
  assert.match(seen.used, /ms, [\d,]+ units of work/);
  const { data } = await tab.send("Page.captureScreenshot", { format: "png" });
  writeFileSync(join(home, "playground.png"), Buffer.from(data, "base64"));
});

test("a runaway query ends by its budget, or when it is stopped, and the next one is answered", options, async (context) => {
  const tab = await playground(context);
  await tab.run("$('timeout').value = 1; $('timeout').dispatchEvent(new Event('change')); await ready();");
  const refused = await tab.run("document.querySelector('[data-scene=runaway]').click(); return shows('grid', 'Stopped');");
  assert.match(refused, /time budget of 1 s/);
  await tab.run("$('timeout').value = 60; $('timeout').dispatchEvent(new Event('change')); await ready();");
  await tab.run(`document.querySelector('[data-scene=runaway]').click();
    await new Promise((resolve) => setTimeout(resolve, 300));
    $('stop').click();
    await shows('grid', 'taken back');`);
  await tab.run("await query('SELECT 6 * 7 AS answer'); await shows('grid', '42');");
});

test("a dry run changes nothing, and what was deleted is undone", options, async (context) => {
  const tab = await playground(context);
  await tab.run("document.querySelector('[data-scene=dry]').click(); await shows('text', 'rolled back');");
  const [before] = [await tab.run("await query('SELECT count(*) AS n FROM items'); return document.querySelector('tbody').innerText;")];
  await tab.run("document.querySelector('[data-scene=undo]').click(); await until(() => $('tool').value === 'sqlarium_undo' && !$('run').disabled);");
  assert.equal(await tab.run("await query('SELECT count(*) AS n FROM items'); return document.querySelector('tbody').innerText;"), before);
});

test("what is kept in the browser is there after a reload, and open in one tab at a time", options, async (context) => {
  const tab = await playground(context);
  const keep = "$('kept').click(); await ready();";
  await tab.run(`${keep}
    $('tool').value = 'sqlarium_batch';
    $('tool').dispatchEvent(new Event('change'));
    document.querySelector('[name=sql]').value = "DROP TABLE IF EXISTS kept; CREATE TABLE kept (a); INSERT INTO kept VALUES (1234)";
    $('form').requestSubmit();
    await shows('tables', 'kept (1)');`);
  const other = await playground(context);
  assert.match(await other.run(`${keep} return $('database').textContent;`), /open in another tab/);
  await other.run("await query('SELECT count(*) AS n FROM customers'); await shows('grid', '4');");
  await tab.reload();
  await tab.run(`await shows('grid', 'revenue'); await ready(); ${keep} await query('SELECT a FROM kept'); await shows('grid', '1234');`);
});

test("rows sort by their head, and tabs go by the keyboard", options, async (context) => {
  const tab = await playground(context);
  await tab.run("await query('SELECT name, price FROM products ORDER BY id');");
  const sorted = await tab.run("document.querySelectorAll('th button')[1].click(); return [...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent);");
  assert.deepEqual(sorted, ["Lamp", "Rug", "Shelf", "Chair", "Desk"]);
  const lines = await tab.run(`$('tab-grid').focus();
    for (const key of ['ArrowRight', 'ArrowRight']) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key }));
    return $('lines').hidden ? '' : $('lines').textContent;`);
  assert.match(lines, /→ \{"jsonrpc":"2.0"/);
  assert.match(lines, /← \{"jsonrpc":"2.0"/);
});

for (const [width, scheme] of [[1000, "light"], [360, "dark"]]) {
  test(`at ${width} pixels, ${scheme}, axe finds nothing serious and nothing overflows`, options, async (context) => {
    const tab = await playground(context, width);
    await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const axe = readFileSync(join(here, "../node_modules/axe-core/axe.min.js"), "utf8");
    await tab.send("Runtime.evaluate", { expression: axe });
    const { violations, overflow } = await tab.run(`
      const { violations } = await axe.run();
      return { violations: violations.map(({ id, impact, nodes }) => [id, impact, nodes.map((node) => node.html)]), overflow: document.documentElement.scrollWidth - innerWidth };`);
    assert.deepEqual(violations.filter(([, impact]) => ["serious", "critical"].includes(impact)), []);
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  });
}
