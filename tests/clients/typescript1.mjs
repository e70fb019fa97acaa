// The TypeScript SDK 1.x: node typescript1.mjs SERVER [ARGUMENT...]
// Prints what it saw as one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { converse } from "./converse.mjs";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "sqlarium-tests", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
await converse(client, client.transport.protocolVersion ?? null);
