#!/usr/bin/env node
/** `sqlarium mcp [OPTIONS] FILE` in Node: a database over the Model Context Protocol, on standard input and output. */

import { readFileSync } from "node:fs";

import { open, type Options } from "./node.js";
import { OPTIONS } from "./options.js";

/** The exit code for a command line that makes no sense. */
const USAGE = 2;
const NEWLINE = 10;
/** Lines that wait for their answers before no more are read. */
const MOST_WAITING = 256;
/** How long a call may go on when the client has closed its end. */
const SHUTDOWN_MS = 5000;

const UNITS: Record<string, number> = { K: 1 << 10, M: 1 << 20, G: 1 << 30, ms: 1, s: 1000, m: 60_000 };

/** The value of a flag: a word, or a number with a unit. */
function value(name: string, word: string): string | number {
  if (name === "tools") return word;
  if (name === "notes") return readFileSync(word, "utf8");
  const [, digits, unit] = /^(\d+)([KMG]|ms|s|m)?$/.exec(word) ?? [];
  if (!digits) throw new TypeError(`--${name} takes a number, such as 64K or 500ms, not ${word}.`);
  return Number(digits) * (UNITS[unit ?? ""] ?? 1);
}

function parse(words: string[]): { file: string; options: Options } {
  if (words.shift() !== "mcp") throw new TypeError("Say what to do: sqlarium mcp [OPTIONS] FILE.");
  const options: Record<string, unknown> = {};
  const files: string[] = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith("--")) {
      files.push(word);
      continue;
    }
    const name = word.slice(2);
    const key = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    if (name === "no-undo") options.undo = false;
    else if (["readonly", "exclusive", "strict"].includes(name)) options[key] = true;
    else if ((OPTIONS as string[]).includes(key) && key !== "undo") {
      options[key] = value(name, words.shift() ?? "");
    } else throw new TypeError(`There is no ${word} in Node. What there is, the program sqlarium has too, and --exclusive.`);
  }
  const [file] = files;
  if (file === undefined || files.length > 1) throw new TypeError("Name one database file, or :memory:.");
  return { file, options };
}

async function serve(file: string, options: Options): Promise<void> {
  const database = await open(file, options);
  const send = (line: string | undefined) => line !== undefined && process.stdout.write(`${line}\n`);
  database.onnotify = send;
  database.onlog = (text) => process.stderr.write(`${text.trimEnd()}\n`);
  const most = options.request ?? 1 << 20;
  const waiting = new Set<Promise<void>>();
  const take = (line: Uint8Array) => {
    const answered = database.answer(line).then(send, (error: Error) => {
      process.stderr.write(`${error.message}\n`);
      process.exit(1);
    });
    const settled = answered.then(() => {
      waiting.delete(settled);
      process.stdin.resume();
    });
    waiting.add(settled);
    if (waiting.size > MOST_WAITING) process.stdin.pause();
  };

  let line: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array) => {
    // Of a line that is too long the start is kept.
    if (length <= most) line.push(part.subarray(0, most + 1 - length));
    length += part.length;
  };
  const end = () => {
    if (length > 0) take(Buffer.concat(line));
    line = [];
    length = 0;
  };
  process.stdin.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, at));
      end();
      start = at + 1;
    }
    add(chunk.subarray(start));
  });
  await new Promise((resolve) => process.stdin.on("end", resolve));
  end();
  const late = new Promise((resolve) => setTimeout(resolve, SHUTDOWN_MS).unref());
  await Promise.race([Promise.all(waiting), late]);
  await database.close();
}

try {
  const { file, options } = parse(process.argv.slice(2));
  await serve(file, options);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = USAGE;
}
