// Compiled against the package's types, never run: what a user writes has to pass, and what is wrong has not.
import { open, SqlariumError, type Database, type Options, type Rows } from "sqlarium";

const options: Options = { readonly: true, timeout: 1000, undo: "required" };
const db: Database = await open(":memory:", options);
const bytes: Database = await open(new Uint8Array(8));
const rows: Rows = await db.query("SELECT ?1", [1], { limit: 3, signal: AbortSignal.timeout(10) });
const cell: string | number | null | undefined = rows.rows[0]?.[0];
const reply: string | undefined = await bytes.answer("{}");
const names: string[] = (await db.tools()).map((tool) => tool.name);
const kind: "immediate" | "deadline" = db.cancellation;
try {
  await db.exec("DELETE FROM t", { onProgress: (progress: number) => console.log(progress, cell, reply, names, kind) });
} catch (error) {
  if (error instanceof SqlariumError) console.log(error.status);
}
await db.close();

// @ts-expect-error no such option
await open(":memory:", { readOnly: true });
// @ts-expect-error a time is a number
await open(":memory:", { timeout: "1s" });
// @ts-expect-error a database is not opened by a number
await open(1);
// @ts-expect-error SQL is text
await db.query(1);
// @ts-expect-error nobody makes a database but open
new Database();
