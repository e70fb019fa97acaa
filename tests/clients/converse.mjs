// What both TypeScript SDKs do once they are connected: list the tools, call a
// query, read an error.
export async function converse(client, protocol) {
  const { tools } = await client.listTools();
  const query = (sql) => client.callTool({ name: "sqlarium_query", arguments: { sql } });
  const good = await query("SELECT 6 * 7 AS answer");
  const bad = await query("SELECT * FROM nowhere");
  console.log(
    JSON.stringify({
      protocol,
      server: client.getServerVersion()?.name ?? null,
      tools: tools.map((tool) => tool.name),
      text: good.content[0].text,
      failed: good.isError ?? false,
      error: bad.content[0].text,
      refused: bad.isError ?? false,
    }),
  );
  await client.close();
}
