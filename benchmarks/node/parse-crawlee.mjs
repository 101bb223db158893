// @crawlee/utils over one document: node parse-crawlee.mjs FILE
// The document comes from a server inside of this process: a string it takes as one piece, and then the time grows
// with the square of its length.
import { createServer } from "node:http";
import { extname } from "node:path";
import { parseSitemap } from "@crawlee/utils";
import { timed } from "./timing.mjs";

const suffix = extname(process.argv[2]);
const kind = suffix === ".txt" ? "text/plain" : "application/xml";
let served;
const server = createServer((_, response) => response.setHeader("Content-Type", kind).end(served));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}/sitemap${suffix}`;

await timed(async (body) => {
  served = body;
  let urls = 0;
  for await (const _ of parseSitemap([{ type: "url", url }], undefined, { enqueueStrategy: "all" })) urls++;
  return urls;
});
server.closeAllConnections();
server.close();
