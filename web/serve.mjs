// Serves a folder on loopback, for the tests and for `make playground`: node web/serve.mjs FOLDER [PORT].
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml" };
// What a page of the package needs, and no more.
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data: blob:";
const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** Serves a folder on loopback; `bytes` counts what was sent. Pages below /isolated/ may share memory with workers. */
export async function serve(folder, pages = {}, port = 0) {
  const served = { bytes: 0, requests: [] };
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const isolated = path.startsWith("/isolated/") ? ISOLATED : {};
    const name = isolated === ISOLATED ? path.slice("/isolated".length) : path;
    try {
      const body = pages[name] ?? readFileSync(join(folder, name.endsWith("/") ? `${name}index.html` : name));
      const type = TYPES[extname(name)] ?? "text/html; charset=utf-8";
      response.writeHead(200, { "content-type": type, "content-security-policy": POLICY, ...isolated });
      response.end(body);
      served.bytes += body.length;
      served.requests.push(path);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return Object.assign(served, { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, port = "8000"] = process.argv.slice(2);
  const { url } = await serve(folder, {}, Number(port));
  console.log(`The playground: ${url}/isolated/playground/ (Ctrl+C ends it)`);
}
