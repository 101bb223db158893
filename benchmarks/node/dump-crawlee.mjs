// @crawlee/utils over a whole site, to JSONL: node dump-crawlee.mjs SITEMAP OUT
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { parseSitemap } from "@crawlee/utils";

const [sitemap, out] = process.argv.slice(2);
const lines = createWriteStream(out);
for await (const item of parseSitemap([{ type: "url", url: sitemap }])) {
  if (!lines.write(JSON.stringify(item) + "\n")) await once(lines, "drain");
}
lines.end();
