// The page of a watch: totals and sites by requests every 15 seconds, changes by one stream of server-sent events.
// All text of sites is set as text, never as markup; the token stays in sessionStorage and goes into a header.
const SITES = 50;
const CHANGES = 50;
const REFRESH_MILLISECONDS = 15_000;
const RETRY_MILLISECONDS = 3_000;

const part = (name) => document.getElementById(name);
const query = { order: "site", reverse: false, contains: "", only_faults: false, offset: 0 };

// --- text ---

// Characters that are not visible, or change the direction of others, as escapes.
const visible = (text) =>
  String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
const number = (value) => (value ?? 0).toLocaleString("en", { maximumFractionDigits: 1 });

function made(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = visible(text);
  if (className) element.className = className;
  return element;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { style: "short", numeric: "auto" });

function moment(text) {
  if (!text) return made("span", "–", "quiet");
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS.at(-1);
  const element = made("time", relative.format(Math.trunc(seconds / size), unit));
  element.dateTime = element.title = text;
  return element;
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
    ["Failing sites", number(totals.failing), totals.failing ? "bad" : ""],
    ["Sitemaps", number(totals.documents)],
    ["URLs", number(totals.urls)],
    ["Changes in 24 hours", number(totals.new + totals.updated + totals.removed)],
    ["Requests in the last hour", number(totals.requests_last_hour) + (budget ? ` of ${number(budget)}` : "")],
  ];
  part("totals").replaceChildren(
    ...rows.map(([name, value, className]) => {
      const pair = made("div", undefined, className);
      pair.append(made("dt", name), made("dd", value));
      return pair;
    }),
  );
  part("sinks").hidden = !totals.sinks.length;
  part("sinks").querySelector("tbody").replaceChildren(
    ...totals.sinks.map((sink) => {
      const row = made("tr");
      const name = made("th", sink.name);
      name.scope = "row";
      row.append(
        name,
        cell(number(sink.lag_changes), "number"),
        cell(number(sink.lag_seconds), "number"),
        cell(made("span", sink.fault ?? "–"), sink.fault ? "bad" : "quiet"),
      );
      return row;
    }),
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
    const line = made("p", "no request before ");
    line.append(moment(site.backoff_until));
    list.append(line);
  }
  if (site.pings_held_until) {
    const line = made("p", "a ping brings no visit before ");
    line.append(moment(site.pings_held_until), `: ${visible(site.pings_held_because)}`);
    list.append(line);
  }
  for (const fault of site.faults) {
    const line = made("p");
    line.append(made("code", fault.code), " ", made("bdi", fault.message));
    list.append(line);
  }
  return list.childElementCount ? list : made("span", "–", "quiet");
}

function nextVisit(site) {
  if (site.visiting_since) return "under way";
  return Date.parse(site.next_visit) <= Date.now() ? "due" : moment(site.next_visit);
}

function siteRow(site) {
  const row = made("tr");
  const name = made("th");
  name.scope = "row";
  name.append(address(site.site));
  const changes = site.new + site.updated + site.removed;
  row.append(
    name,
    cell(faultsOf(site), "faults"),
    cell(nextVisit(site)),
    cell(moment(site.last_visit)),
    cell(moment(site.last_change)),
    cell(changes ? `+${number(site.new)} ~${number(site.updated)} −${number(site.removed)}` : "–", changes ? "" : "quiet"),
    cell(number(site.urls), "number"),
    cell(number(site.requests), "number"),
  );
  return row;
}

const parameters = () =>
  new URLSearchParams({ ...query, limit: SITES, reverse: +query.reverse, only_faults: +query.only_faults }).toString();

async function showSites() {
  const requested = parameters();
  const response = await read(`sites?${requested}`);
  const total = Number(response.headers.get("X-Total-Count"));
  const sites = (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
  if (requested !== parameters()) return; // the query has changed meanwhile
  part("sites").tBodies[0].replaceChildren(...sites.map(siteRow));
  const last = query.offset + sites.length;
  part("range").textContent = total ? `${number(query.offset + 1)} to ${number(last)} of ${number(total)}` : "no sites";
  part("earlier").disabled = query.offset === 0;
  part("later").disabled = last >= total;
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

function changeItem(change) {
  const item = made("li");
  const where = made("span", undefined, "quiet place");
  where.append(moment(change.at), " · ", made("bdi", change.site ?? ""));
  item.append(made("span", change.change ?? change.type, `kind ${/^\w+$/.test(change.change) ? change.change : ""}`));
  item.append(address(change.loc ?? ""), where);
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
  changes.unshift(change);
  changes.length = Math.min(changes.length, CHANGES);
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

async function showState(totals) {
  const health = await (await get("healthz")).json();
  const verb = totals.failing === 1 ? "fails" : "fail";
  const failing = `The watch is running; ${number(totals.failing)} of ${number(totals.sites)} sites ${verb}`;
  const fault = health.faults.length ? visible(health.faults.join("; ")) : totals.failing ? failing : "";
  part("state").className = fault ? "bad" : "quiet";
  part("state").replaceChildren(`${fault || "All works"}. Last visit: `, moment(health.last_visit));
}

async function refresh() {
  try {
    const totals = await (await read("totals")).json();
    cursor ??= Math.max(0, totals.last_seq - CHANGES);
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
      part("state").textContent = "The watch needs a token.";
      part("token").focus();
      return false;
    }
    part("state").className = "bad";
    part("state").textContent = `The watch does not answer: ${visible(error.message)}`;
    return true;
  }
}

// Until the token is refused; the form begins again.
async function run() {
  if (isRunning) return;
  isRunning = true;
  if (await refresh()) await Promise.all([repeat(follow, RETRY_MILLISECONDS), repeat(refresh, REFRESH_MILLISECONDS)]);
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
run();
