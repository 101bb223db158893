// Times a reader over one document: prints {"seconds", "urls"}, as ../parsing.py does.
import { readFileSync } from "node:fs";

const LEAST_SECONDS = 1;

// `read` takes the bytes of the document, and gives how many entries it has.
export async function timed(read) {
  const body = readFileSync(process.argv[2]);
  const took = [];
  let urls = 0;
  while (took.length < 2 || took.reduce((one, other) => one + other) < LEAST_SECONDS) {
    const started = process.hrtime.bigint();
    urls = await read(body);
    took.push(Number(process.hrtime.bigint() - started) / 1e9);
  }
  console.log(JSON.stringify({ seconds: Math.min(...took), urls }));
}
