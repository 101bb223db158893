// sitemap (sitemap.js) over one document in memory, fed in 64 KiB: node parse-sitemap.mjs FILE
import { Readable } from "node:stream";
import { XMLToSitemapItemStream } from "sitemap";
import { timed } from "./timing.mjs";

const CHUNK_BYTES = 64 * 1024;

function* chunks(body) {
  for (let begin = 0; begin < body.length; begin += CHUNK_BYTES) yield body.subarray(begin, begin + CHUNK_BYTES);
}

await timed(async (body) => {
  let urls = 0;
  const items = Readable.from(chunks(body)).pipe(new XMLToSitemapItemStream({ logger: false }));
  for await (const _ of items) urls++;
  return urls;
});
