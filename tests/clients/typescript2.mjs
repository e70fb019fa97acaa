// The TypeScript SDK 2.x: node typescript2.mjs default|auto|DATE SERVER [ARGUMENT...]
// DATE pins a protocol revision. Prints what it saw as one line of JSON.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { converse } from "./converse.mjs";

const [mode, command, ...args] = process.argv.slice(2);
const negotiation = {
  default: {},
  auto: { versionNegotiation: { mode: "auto" } },
}[mode] ?? { versionNegotiation: { mode: { pin: mode } } };
const client = new Client({ name: "sqlarium-tests", version: "1" }, negotiation);
await client.connect(new StdioClientTransport({ command, args }));
await converse(client, client.getNegotiatedProtocolVersion?.() ?? null);
