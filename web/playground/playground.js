/** The page: a database of the package sqlarium, and forms made out of the tools that it serves. */

import { open } from "../browser.js";
import { SHOP } from "./shop.js";

const KEPT = "playground.db";
const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
/** Lines that the log keeps, and how much of each. */
const LOG_LINES = 40;
const LOG_CHARS = 4000;

const $ = (id) => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

let db;
let source;
let tools = [];
let last = 0;
let running;

/** Opens a database in place of the one that is open: `{ bytes }`, `{ name }` or `{ sql }`. One after the other. */
function show(next, title) {
  return inTurn(() => replace(next, title));
}

let turn = Promise.resolve();

function inTurn(work) {
  $("database").textContent = "Opening…";
  $("run").disabled = true;
  turn = turn.then(work).finally(() => ($("run").disabled = false));
  return turn;
}

async function replace(next, title) {
  const options = { timeout: 1000 * $("timeout").value, memory: $("memory").value * 2 ** 20 };
  const before = db;
  // A file of this browser is open once.
  if (before && source?.name) await before.close();
  try {
    db = await open(next.name ?? next.bytes ?? ":memory:", options);
    if (next.sql) await db.exec(next.sql);
    tools = await db.tools();
    if (before && !source?.name) await before.close();
    source = { ...next, title };
    $("database").textContent = title;
  } catch (error) {
    if (before && source?.name) db = await open(source.name, options);
    $("database").textContent = error.message;
  }
  listTools();
  await listTables();
}

/** The same database under other budgets. */
async function reopen() {
  for (const [name, unit] of [["timeout", " s"], ["memory", " MiB"]]) $(`${name}-value`).textContent = $(name).value + unit;
  if (!db) return;
  await inTurn(async () => replace(source.name ? { name: source.name } : { bytes: await db.bytes() }, source.title));
}

/** Sends a call of a tool, and shows both lines. Answers the result, or what was refused. */
async function call(tool, args) {
  const line = { jsonrpc: "2.0", id: (last += 1), method: "tools/call", params: { name: tool, arguments: args, _meta: META } };
  const text = JSON.stringify(line);
  log("→", text);
  const reply = await db.answer(text);
  log("←", reply ?? "(silence: it was taken back)");
  return reply && JSON.parse(reply);
}

function log(direction, line) {
  const cut = line.length > LOG_CHARS ? `${line.slice(0, LOG_CHARS)}…` : line;
  const lines = [...$("lines").textContent.split("\n").filter(Boolean), `${direction} ${cut}`];
  $("lines").textContent = lines.slice(-LOG_LINES).join("\n");
}

async function listTables() {
  const { rows } = await db.call("tables").catch(() => ({ rows: [] }));
  const items = rows.map(([name, kind, , count]) => {
    const button = element("button", { type: "button", textContent: `${name} (${count ?? kind})` });
    button.addEventListener("click", () => ask("sqlarium_query", { sql: `SELECT * FROM "${name.replaceAll('"', '""')}"` }));
    return element("li", {}, button);
  });
  $("tables").replaceChildren(...items);
}

function listTools() {
  const chosen = $("tool").value || "sqlarium_query";
  $("tool").replaceChildren(...tools.map(({ name, title }) => element("option", { value: name, textContent: title ?? name })));
  $("tool").value = tools.some(({ name }) => name === chosen) ? chosen : tools[0]?.name;
  makeForm();
}

/** A field for each argument that the tool declares. */
function makeForm(values = {}) {
  const tool = tools.find(({ name }) => name === $("tool").value);
  $("about").textContent = tool?.description ?? "";
  const required = tool?.inputSchema.required ?? [];
  const fields = Object.entries(tool?.inputSchema.properties ?? {}).filter(([name]) => name !== "output");
  $("fields").replaceChildren(
    ...fields.map(([name, schema]) => {
      const field = fieldOf(name, schema);
      field.name = name;
      field.required = required.includes(name) && field.type !== "checkbox";
      if (schema.type === "boolean") field.checked = Boolean(values[name]);
      else if (values[name] !== undefined) field.value = values[name];
      const hint = schema.description ? element("span", { className: "hint", textContent: ` ${schema.description}` }) : "";
      return element("label", {}, name, hint, field);
    }),
  );
}

function fieldOf(name, schema) {
  if (schema.enum) {
    const choices = ["", ...schema.enum].map((value) => element("option", { value, textContent: value || "(default)" }));
    return element("select", {}, ...choices);
  }
  if (name === "sql" || name === "input") return element("textarea", { spellcheck: false });
  const type = { boolean: "checkbox", integer: "number" }[schema.type] ?? "text";
  return element("input", { type });
}

/** What the form says, as the tool's arguments. */
function readForm() {
  const properties = tools.find(({ name }) => name === $("tool").value).inputSchema.properties;
  const args = {};
  for (const field of $("fields").querySelectorAll("[name]")) {
    const { type } = properties[field.name];
    if (type === "boolean") {
      if (field.checked) args[field.name] = true;
    } else if (field.value !== "") {
      args[field.name] = ["object", "array", "integer"].includes(type) ? JSON.parse(field.value) : field.value;
    }
  }
  return args;
}

/** Fills in the form and runs it. */
async function ask(tool, args) {
  $("tool").value = tool;
  makeForm(args);
  await run();
}

async function run() {
  if (running || $("run").disabled) return;
  let args;
  try {
    args = readForm();
  } catch (error) {
    return refuse(`An argument is not JSON: ${error.message}`);
  }
  const tool = tools.find(({ name }) => name === $("tool").value);
  running = { id: last + 1 };
  $("run").disabled = true;
  $("stop").disabled = false;
  try {
    // What writes runs once; what reads may run twice, for the rows and for the text.
    const began = performance.now();
    const reads = tool.annotations?.readOnlyHint;
    const json = reads ? await call(tool.name, { ...args, output: "json" }) : undefined;
    if (reads && (!json || json.error || json.result.isError)) return refuse(sentence(json));
    const text = await call(tool.name, args);
    if (!text || text.error || text.result.isError) return refuse(sentence(text));
    $("text").textContent = text.result.content.map((block) => block.text).join("\n");
    const object = json?.result.structuredContent;
    gauge(object?.elapsed_ms ?? performance.now() - began, object?.fuel);
    grid(object);
    if (!reads) await listTables();
  } catch (error) {
    refuse(error.message);
  } finally {
    running = undefined;
    $("run").disabled = false;
    $("stop").disabled = true;
  }
}

function sentence(reply) {
  if (!reply) return "The call was taken back.";
  if (reply.error) return reply.error.message;
  const { message, hint } = reply.result.structuredContent ?? {};
  return message ? [message, hint].filter(Boolean).join(" ") : reply.result.content.map((block) => block.text).join("\n");
}

function refuse(text) {
  $("text").textContent = text;
  $("grid").replaceChildren(element("p", { className: "refused", textContent: text }));
}

function gauge(ms, fuel) {
  $("used").textContent = `${ms.toFixed(1)} ms${fuel === undefined ? "" : `, ${fuel.toLocaleString("en")} units of work`}`;
  $("gauge").value = ms / (1000 * $("timeout").value);
}

/** The rows as a table that sorts by a click on its head. */
function grid(object) {
  if (!object?.rows || !object.columns) {
    $("grid").replaceChildren(element("pre", { textContent: $("text").textContent }));
    return;
  }
  const { columns, rows } = object;
  const body = element("tbody");
  const fill = (sorted) =>
    body.replaceChildren(
      ...sorted.map((row) => {
        const cells = row.map((value) => element("td", { className: typeof value === "number" ? "number" : "", textContent: value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : value }));
        return element("tr", {}, ...cells);
      }),
    );
  let down = 1;
  const heads = columns.map(({ name }, index) => {
    const button = element("button", { type: "button", textContent: name });
    const head = element("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      down = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = down > 0 ? "ascending" : "descending";
      fill([...rows].sort((a, b) => down * compare(a[index], b[index])));
    });
    return head;
  });
  fill(rows);
  const copy = element("button", { type: "button", textContent: "Copy with tabs" });
  copy.addEventListener("click", () => {
    const lines = [columns.map(({ name }) => name), ...rows].map((row) => row.join("\t"));
    void navigator.clipboard.writeText(lines.join("\n"));
  });
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}${object.more ? ", and there are more" : ""}`;
  $("grid").replaceChildren(
    element("div", { className: "row" }, element("span", { textContent: count }), copy),
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body),
  );
}

/** NULL first, then numbers, then text, as SQLite sorts. */
function compare(a, b) {
  const rank = (value) => (value === null ? 0 : typeof value === "number" ? 1 : 2);
  return rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0);
}

const SCENES = {
  runaway: () => ask("sqlarium_query", { sql: ENDLESS }),
  dry: () => ask("sqlarium_exec", { sql: "UPDATE products SET price = price * 1.1", dry_run: true }),
  undo: async () => {
    await ask("sqlarium_exec", { sql: "DELETE FROM items" });
    await ask("sqlarium_undo", {});
  },
};

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    const chosen = other === tab;
    other.ariaSelected = String(chosen);
    other.tabIndex = chosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !chosen;
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  void run();
});
$("form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
});
$("stop").addEventListener("click", () => {
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: last, _meta: META } };
  void db.answer(JSON.stringify(cancelled));
});
$("tool").addEventListener("change", () => makeForm());
$("shop").addEventListener("click", () => show({ sql: SHOP }, "The sample shop, in memory: it ends with this page."));
$("kept").addEventListener("click", () => show({ name: KEPT }, "Kept in this browser, safe in a crash, open in one tab at a time."));
$("file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (file) await show({ bytes: await file.arrayBuffer() }, `A copy of ${file.name} in memory: the file stays as it is. Download keeps your changes.`);
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) await show({ bytes: await file.arrayBuffer() }, `A copy of ${file.name} in memory: the file stays as it is. Download keeps your changes.`);
});
$("download").addEventListener("click", async () => {
  const href = URL.createObjectURL(new Blob([await db.bytes()], { type: "application/vnd.sqlite3" }));
  element("a", { href, download: source.name ?? "sqlarium.db" }).click();
  URL.revokeObjectURL(href);
});
for (const name of ["timeout", "memory"]) $(name).addEventListener("change", reopen);
for (const button of document.querySelectorAll("[data-scene]")) {
  button.addEventListener("click", () => SCENES[button.dataset.scene]());
}
const tabs = [...document.querySelectorAll("[role=tab]")];
for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[key];
    if (!step) return;
    const next = tabs[(index + step) % tabs.length];
    choose(next);
    next.focus();
  });
}

choose($("tab-grid"));
await reopen();
await show({ sql: SHOP }, "The sample shop, in memory: it ends with this page.");
await ask("sqlarium_query", { sql: "SELECT product, sum(quantity) AS sold, round(sum(total), 2) AS revenue FROM sales GROUP BY product ORDER BY revenue DESC" });
