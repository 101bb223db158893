// sitemapper over a whole site, to JSONL: node dump-sitemapper.mjs SITEMAP OUT IN_FLIGHT
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import Sitemapper from "sitemapper";

const [url, out, inFlight] = process.argv.slice(2);
const fields = { loc: true, lastmod: true, changefreq: true, priority: true };
// Its 15 seconds for a document count from when it is asked for to when it is read.
const reader = new Sitemapper({ url, fields, concurrency: Number(inFlight), timeout: 600_000 });
const { sites } = await reader.fetch();
const lines = createWriteStream(out);
for (const site of sites) {
  if (!lines.write(JSON.stringify(site) + "\n")) await once(lines, "drain");
}
lines.end();
