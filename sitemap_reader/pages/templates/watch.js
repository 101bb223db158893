// The page of a watch: totals and sites by requests every 15 seconds, changes by one stream of server-sent events, and
// times by the clock each second.
// All text of sites is set as text, never as markup; the token stays in sessionStorage and goes into a header.
const SITES = 50;
const CHANGES = 50;
const LOOK_BACK = 500; // changes that are read at the start, as a first reading may have many and is one item
const REFRESH_MILLISECONDS = 15_000;
const RETRY_MILLISECONDS = 3_000;

const part = (name) => document.getElementById(name);
const query = { order: "faults", reverse: false, contains: "", only_faults: false, offset: 0 };

// --- text ---

// Characters that are not visible, or change the direction of others, as escapes.
const visible = (text) =>
  String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
const number = (value) => (value ?? 0).toLocaleString("en", { maximumFractionDigits: 1 });
const urls = (count) => `${number(count)} URL${count === 1 ? "" : "s"}`;

function made(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = visible(text);
  if (className) element.className = className;
  return element;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { style: "short", numeric: "auto" });

function timeText({ dateTime, dataset }) {
  const seconds = (Date.parse(dateTime) - Date.now()) / 1000;
  if (seconds <= 0 && dataset.plan) return "due";
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS.at(-1);
  return relative.format(Math.trunc(seconds / size), unit);
}

function moment(text, isPlan = false) {
  if (!text) return made("span", "–", "quiet");
  const element = made("time");
  element.dateTime = element.title = text;
  if (isPlan) element.dataset.plan = "1";
  element.textContent = timeText(element);
  return element;
}

function showTimes() {
  for (const element of document.getElementsByTagName("time")) {
    const text = timeText(element);
    if (element.textContent !== text) element.textContent = text;
  }
}

function address(text) {
  const isWeb = /^https?:\/\//i.test(text) && URL.canParse(text);
  const element = made(isWeb ? "a" : "span");
  if (isWeb) Object.assign(element, { href: text, rel: "noopener noreferrer nofollow" });
  element.append(made("bdi", text));
  return element;
}

function cell(content, className) {
  const element = made("td", undefined, className);
  element.append(content instanceof Node ? content : document.createTextNode(content));
  return element;
}

// A cell has the name of its column, for screens that have no room for columns.
function showRows(table, rows) {
  const names = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  for (const row of rows) for (const each of row.cells) each.dataset.label = names[each.cellIndex];
  table.tBodies[0].replaceChildren(...rows);
}

function rowOf(name, ...cells) {
  const head = made("th");
  head.scope = "row";
  head.append(name);
  const row = made("tr");
  row.append(head, ...cells);
  return row;
}

// --- requests ---

class Refused extends Error {}

async function get(path, headers = {}) {
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { headers, cache: "no-store" });
  if (response.status === 401) throw new Refused(token ? "This token is wrong." : "");
  return response;
}

async function read(path) {
  const response = await get(path);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response;
}

// --- totals, sinks, sites ---

function showTotals(totals) {
  const budget = totals.budget_per_hour;
  const rows = [
    ["Sites", number(totals.sites)],
    ["Sitemaps", number(totals.documents)],
    ["URLs", number(totals.urls)],
    ["Changes in 24 hours", number(totals.new + totals.updated + totals.removed)],
    ["Requests in the last hour", number(totals.requests_last_hour) + (budget ? ` of ${number(budget)}` : "")],
  ];
  if (totals.first_reading) rows.splice(4, 0, ["URLs in first readings, 24 hours", number(totals.first_reading)]);
  part("totals").replaceChildren(
    ...rows.map(([name, value]) => {
      const pair = made("div");
      pair.append(made("dt", name), made("dd", value));
      return pair;
    }),
  );
  part("sinks").hidden = !totals.sinks.length;
  showRows(part("sinks").querySelector("table"), totals.sinks.map(sinkRow));
}

function sinkRow(sink) {
  return rowOf(
    made("bdi", sink.name),
    cell(made("bdi", sink.fault ?? "–"), sink.fault ? "faults bad" : "faults quiet"),
    cell(number(sink.lag_changes), "number"),
    cell(number(sink.lag_seconds), "number"),
  );
}

function faultsOf(site) {
  const list = made("div");
  if (site.failing_since) {
    const line = made("p", "failing since ", "bad");
    line.append(moment(site.failing_since));
    list.append(line);
  }
  if (site.backoff_until) {
    const line = made("p", "next request: ");
    line.append(moment(site.backoff_until, true));
    list.append(line);
  }
  if (site.pings_held_until) {
    const line = made("p", "next visit by a ping: ");
    line.append(moment(site.pings_held_until, true), `; ${visible(site.pings_held_because)}`);
    list.append(line);
  }
  for (const fault of site.faults) {
    const line = made("p");
    line.append(made("code", fault.code), " ", made("bdi", fault.message));
    list.append(line);
  }
  return list.childElementCount ? cell(list, "faults") : cell("–", "faults quiet");
}

function changesOf(site) {
  const list = made("div");
  const counts = [["+", site.new], ["~", site.updated], ["−", site.removed]].filter(([, count]) => count);
  if (counts.length) list.append(made("p", counts.map(([sign, count]) => sign + number(count)).join(" ")));
  if (!counts.length && !site.first_reading) list.append(made("span", "–", "quiet"));
  if (site.first_reading) list.append(made("p", `first reading: ${urls(site.first_reading)}`));
  return list;
}

function siteRow(site) {
  return rowOf(
    address(site.site),
    faultsOf(site),
    cell(site.visiting_since ? "under way" : moment(site.next_visit, true)),
    cell(moment(site.last_visit)),
    cell(moment(site.last_change)),
    cell(changesOf(site)),
    cell(number(site.urls), "number"),
    cell(number(site.requests), "number"),
  );
}

const parameters = () =>
  new URLSearchParams({ ...query, limit: SITES, reverse: +query.reverse, only_faults: +query.only_faults }).toString();

async function showSites() {
  const requested = parameters();
  const response = await read(`sites?${requested}`);
  const total = Number(response.headers.get("X-Total-Count"));
  const sites = (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
  if (requested !== parameters()) return; // the query has changed meanwhile
  showRows(part("sites"), sites.map(siteRow));
  const last = query.offset + sites.length;
  part("range").textContent = total ? `${number(query.offset + 1)} to ${number(last)} of ${number(total)}` : "no sites";
  part("earlier").disabled = query.offset === 0;
  part("later").disabled = last >= total;
  for (const name of ["earlier", "later"]) part(name).hidden = total <= SITES;
  for (const head of part("sites").querySelectorAll("[data-order]")) {
    const isOrder = head.dataset.order === query.order;
    if (isOrder) head.ariaSort = query.reverse ? "descending" : "ascending";
    else head.removeAttribute("aria-sort");
  }
}

// --- changes ---

const changes = [];
let cursor = null;
let isPaused = false;
let cutBefore = 0; // of a first reading that has changes up to this one, others may stand before those that were read

function kindOf(text) {
  const element = made("span", text, "kind");
  element.dataset.kind = text;
  return element;
}

function changeItem(change) {
  const item = made("li");
  const where = made("span", undefined, "quiet place");
  where.append(moment(change.at));
  if (change.first_reading) {
    item.append(kindOf("first reading"), address(change.site ?? ""));
    where.append(` · ${change.isCut ? "at least " : ""}${urls(change.urls)}`);
  } else {
    item.append(kindOf(change.change), address(change.loc ?? ""));
    where.append(" · ", made("bdi", change.site ?? ""));
  }
  item.append(where);
  return item;
}

function showChanges() {
  if (isPaused) return;
  part("waiting").hidden = changes.length > 0;
  part("changes").replaceChildren(...changes.map(changeItem));
}

// One server-sent event: lines of `name: value`.
function takeEvent(text) {
  const lines = text.split("\n");
  const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  if (!data.length) return;
  const change = JSON.parse(data.join("\n"));
  cursor = change.seq;
  if (change.first_reading) joinReading(change);
  changes.unshift(change);
  changes.length = Math.min(changes.length, CHANGES);
}

// The changes of the first reading of a site are one item, that of the newest; also where many sites are read at once.
const readings = new Map(); // site -> the item
function joinReading(change) {
  const before = readings.get(change.site);
  if (changes.includes(before)) changes.splice(changes.indexOf(before), 1);
  change.urls = 1 + (before?.urls ?? 0);
  change.isCut = before?.isCut ?? change.seq <= cutBefore;
  readings.set(change.site, change);
}

async function followChanges() {
  const response = await get(`changes?after=${cursor}`, { Accept: "text/event-stream" });
  if (response.status === 410) cursor = Number(response.headers.get("Last-Seq"));
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    events.forEach(takeEvent);
    if (events.some((each) => each.includes("data: "))) showChanges();
  }
}

// --- the page ---

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
let isRunning = false;

// "3 of 40 sites fail." Empty if none does.
function failText(failing, all, noun) {
  const fail = failing === 1 ? "fails" : "fail";
  if (failing === all) return all > 1 ? `All ${number(all)} ${noun}s ${fail}.` : all ? `The ${noun} ${fail}.` : "";
  return failing ? `${number(failing)} of ${number(all)} ${noun}s ${fail}.` : "";
}

function readText({ sites, failing, not_visited: waiting }) {
  if (waiting) return `${number(sites - waiting)} of ${number(sites)} sites visited so far.`;
  if (failing) return "";
  if (sites < 2) return sites ? "The site could be read." : "No site is watched.";
  return `All ${number(sites)} sites could be read.`;
}

// A list of [text, whether it is bad]. Times stay outside: a screen reader reads each change of it.
function setState(texts) {
  const parts = texts.filter(([text]) => text).map(([text, isBad]) => made("span", `${text} `, isBad ? "bad" : ""));
  const state = part("state");
  if (state.textContent !== parts.map((each) => each.textContent).join("")) state.replaceChildren(...parts);
}

async function showState(totals) {
  const health = await (await get("healthz")).json();
  const faults = health.faults.join("; ");
  const { sinks } = totals;
  setState([
    [failText(totals.failing, totals.sites, "site"), true],
    [readText(totals)],
    [failText(sinks.filter((sink) => sink.fault).length, sinks.length, "sink"), true],
    [faults ? `The watch does not work: ${faults}.` : "The watch works.", faults],
  ]);
  part("last-visit").replaceChildren("Last visit: ", moment(health.last_visit));
}

async function refresh() {
  try {
    const totals = await (await read("totals")).json();
    if (cursor === null) {
      cursor = Math.max(0, totals.last_seq - LOOK_BACK);
      cutBefore = cursor && totals.last_seq;
    }
    showTotals(totals);
    await showSites();
    await showState(totals);
    part("login").hidden = true;
    part("data").hidden = false;
    return true;
  } catch (error) {
    if (error instanceof Refused) {
      sessionStorage.removeItem("token");
      part("login").hidden = false;
      part("data").hidden = true;
      part("wrong").textContent = error.message;
      setState([["The watch needs a token."]]);
      part("last-visit").replaceChildren();
      part("token").focus();
      return false;
    }
    setState([[`The watch does not answer: ${error.message}`, true]]);
    return true;
  }
}

// Until the token is refused; the form begins again.
async function run() {
  if (isRunning) return;
  isRunning = true;
  if (await refresh()) {
    const later = pause(REFRESH_MILLISECONDS).then(() => repeat(refresh, REFRESH_MILLISECONDS));
    await Promise.all([repeat(follow, RETRY_MILLISECONDS), later]);
  }
  isRunning = false;
}

// Both repetitions end when the token is refused.
async function repeat(action, milliseconds) {
  while (await action()) await pause(milliseconds);
}

async function follow() {
  if (cursor === null) return true;
  try {
    await followChanges();
  } catch (error) {
    return !(error instanceof Refused);
  }
  return true;
}

function changeQuery(values) {
  Object.assign(query, { offset: 0 }, values);
  showSites().catch(() => {}); // the next refresh shows the error
}

part("sites").addEventListener("click", ({ target }) => {
  const order = target.closest("th button")?.parentElement.dataset.order;
  if (order) changeQuery({ order, reverse: order === query.order && !query.reverse });
});
part("name-filter").addEventListener("input", ({ target }) => changeQuery({ contains: target.value }));
part("fault-filter").addEventListener("change", ({ target }) => changeQuery({ only_faults: target.checked }));
part("filters").addEventListener("submit", (event) => event.preventDefault());
part("earlier").addEventListener("click", () => changeQuery({ offset: Math.max(0, query.offset - SITES) }));
part("later").addEventListener("click", () => changeQuery({ offset: query.offset + SITES }));
part("pause").addEventListener("click", ({ target }) => {
  isPaused = !isPaused;
  target.ariaPressed = String(isPaused);
  showChanges();
});
part("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", part("token").value.trim());
  part("token").value = "";
  run();
});
setInterval(showTimes, 1_000);
run();
