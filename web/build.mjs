// Makes the package from the component: node web/build.mjs COMPONENT FOLDER. The component goes through jco, the rest
// through tsc: see `make web`.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { transpile } from "@bytecodealliance/jco-transpile";

/** The most memory that the component can have, in pages of 64 KiB: MOST_MEMORY of src/options.ts. */
const MOST_PAGES = (1024 << 20) >> 16;

const [component, folder] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

/** Gives the memory of a core module a maximum, which Rust's linker does not. */
function withMaximum(module) {
  const reader = { at: 8 };
  const number = () => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = module[reader.at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const leb = (value) => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)]);
  while (reader.at < module.length) {
    const start = reader.at;
    const id = module[reader.at++];
    const size = number();
    const end = reader.at + size;
    if (id === 5) {
      const [count, flags, least] = [number(), number(), number()];
      if (count !== 1 || flags !== 0) throw new Error("the component's memory is not what it was");
      const section = [1, 1, ...leb(least), ...leb(MOST_PAGES)];
      return Buffer.concat([module.subarray(0, start), Buffer.from([5, section.length, ...section]), module.subarray(end)]);
    }
    reader.at = end;
  }
  throw new Error("the component has no memory");
}

const bytes = readFileSync(component);
const { files } = await transpile(component, {
  name: "sqlarium",
  instantiation: "sync",
  importBindings: "hybrid",
  nodejsCompat: false,
  validLiftingOptimization: true,
  noTypescript: true,
  minify: true,
});
rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, "component"), { recursive: true });
for (const [name, content] of Object.entries(files)) {
  if (name.endsWith(".d.ts")) continue;
  writeFileSync(join(folder, "component", name), name === "sqlarium.core.wasm" ? withMaximum(Buffer.from(content)) : content);
}
const digest = createHash("sha256").update(bytes).digest("hex");
writeFileSync(join(folder, "component", "sha256"), `${digest}\n`);

execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", here, "--outDir", folder], { stdio: "inherit" });

const { devDependencies, ...manifest } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
cpSync(join(here, "playground"), join(folder, "playground"), { recursive: true });
copyFileSync(join(here, "README.md"), join(folder, "README.md"));
copyFileSync(join(here, "../LICENSE"), join(folder, "LICENSE"));
// By which the tests of the types name it.
rmSync(join(here, "node_modules/sqlarium"), { force: true });
symlinkSync(resolve(folder), join(here, "node_modules/sqlarium"));
console.log(`${folder}: the package sqlarium, of the component ${digest}`);
