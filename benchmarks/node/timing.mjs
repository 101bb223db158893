// Times a reader over one document: prints {"seconds", "urls"}, as ../parsing.py does.
import { readFileSync } from "node:fs";

const LEAST_SECONDS = 1;

// `read` takes the bytes of the document, and gives how many entries it has.
export async function timed(read) {
  const body = readFileSync(process.argv[2]);
  const took = [];
  let all = 0;
  let urls = await read(body); // things load: it does not count
  while (all < LEAST_SECONDS) {
    const started = process.hrtime.bigint();
    urls = await read(body);
    took.push(Number(process.hrtime.bigint() - started) / 1e9);
    all += took.at(-1);
  }
  console.log(JSON.stringify({ seconds: median(took), urls }));
}

function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
