// Search in findings and tables, pages of occurrences, print. Without this script everything is shown, with samples.
const filters = document.querySelector(".filters:has([data-severity])");
const data = JSON.parse(document.querySelector("#occurrences")?.textContent ?? '{"sitemaps": [], "rows": {}}');
const PAGE_ROWS = 25;

const plain = (count) => count.toLocaleString("en");
const many = (count, noun) => `${plain(count)} ${noun}${count === 1 ? "" : "s"}`;
const wordsOf = (field) => field.value.toLowerCase().split(/\s+/).filter(Boolean);

// Runs `show` when the text of the field changes; Escape empties it.
function onSearch(field, show) {
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    show();
  });
}

// --- findings ---

// Counts the visible cards below a heading.
function tally(group, findings) {
  const places = findings.reduce((sum, finding) => sum + Number(finding.dataset.count), 0);
  group.querySelector(".tally").textContent = `· ${many(findings.length, "problem")}, ${many(places, "place")}`;
}

// --- occurrences ---

// A row may stand for several places.
const placesOf = (rows) => rows.reduce((sum, row) => sum + row[7], 0);

const made = (name, text, className) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

// The text of a row in lower case, for the search.
const textOf = ([sitemap, , page, message, field, raw]) =>
  [data.sitemaps[sitemap]?.[0], page?.[0], message, field, raw].join(" ").toLowerCase();

function linked([url, isLink]) {
  const name = made("bdi", url);
  if (!isLink) return name;
  const link = made("a");
  link.href = url;
  link.rel = "noopener noreferrer nofollow";
  link.append(name);
  return link;
}

function listing(sitemap, line) {
  const found = [linked(data.sitemaps[sitemap] ?? ["-", false])];
  return line === null ? found : [...found, `:${line}`];
}

function item([sitemap, line, page, message, field, raw, isNew, places]) {
  const words = made("span", undefined, "words");
  const text = made("span", undefined, "message");
  text.append(made("bdi", message));
  words.append(text);
  if (raw !== null) {
    const shown = made("span", undefined, "raw");
    const code = made("code");
    code.append(made("bdi", raw));
    if (field !== null) shown.append(made("bdi", field), ": ");
    shown.append(code);
    words.append(" ", shown);
  }
  const place = made("span", undefined, "place");
  if (page === null) place.append(...listing(sitemap, line));
  else {
    const listed = made("small", "listed in ", "listed");
    listed.append(...listing(sitemap, line));
    place.append(linked(page));
    words.append(" ", listed);
  }
  const element = made("li");
  element.append(place, words);
  if (places > 1) words.append(" ", made("small", many(places, "place"), "listed"));
  if (isNew) element.prepend(made("span", "new", "new"));
  return element;
}

// The pages of one card: rows() sets what is shown, from its first page on.
class Pages {
  constructor(box, rows, total) {
    this.box = box;
    this.all = rows;
    this.total = total;
    this.search = [];
    this.range = box.querySelector(".range");
    this.range.setAttribute("role", "status");
    this.list = box.querySelector("ul");
    this.buttons = [this.button("Previous", -1), this.button("Next", 1)];
    const bar = made("p", undefined, "pages");
    bar.append(...this.buttons);
    box.append(bar);
    this.rows(rows);
  }

  button(name, step) {
    const button = made("button", name);
    button.type = "button";
    button.addEventListener("click", () => {
      this.page += step;
      this.draw();
    });
    return button;
  }

  matches(words) {
    if (!this.texts) this.texts = this.all.map(textOf);
    return this.all.filter((row, number) => words.every((word) => this.texts[number].includes(word)));
  }

  rows(rows) {
    this.shown = rows;
    this.page = 0;
    this.draw();
  }

  draw() {
    const start = this.page * PAGE_ROWS;
    const rows = this.shown.slice(start, start + PAGE_ROWS);
    const isAll = this.shown.length === this.all.length;
    const count = isAll ? this.total : placesOf(this.shown);
    const first = placesOf(this.shown.slice(0, start)) + 1;
    const last = first + placesOf(rows) - 1;
    this.range.textContent =
      first === 1 && last === count ? many(count, "place") : `${plain(first)}–${plain(last)} of ${many(count, "place")}`;
    this.list.replaceChildren(...rows.map(item));
    this.buttons[0].disabled = start === 0;
    this.buttons[1].disabled = start + PAGE_ROWS >= this.shown.length;
    this.buttons[0].parentElement.hidden = this.shown.length <= PAGE_ROWS;
  }
}

const pages = new Map();
for (const finding of document.querySelectorAll(".finding")) {
  const rows = data.rows[finding.id];
  const box = finding.querySelector(".occurrences");
  if (rows?.length && box) pages.set(finding, new Pages(box, rows, Number(finding.dataset.count)));
}

// --- filters ---

// Shows the occurrences of a card that have all words; all of them where its own text has these. Whether any is left.
function search(finding, words) {
  const list = pages.get(finding);
  if (!list) {
    const text = finding.textContent.toLowerCase();
    return words.every((word) => text.includes(word));
  }
  const head = finding.querySelector("summary").textContent.toLowerCase();
  const rest = words.filter((word) => !head.includes(word));
  const rows = rest.length ? list.matches(rest) : list.all;
  if (rows.length !== list.shown.length || rest.join(" ") !== list.search.join(" ")) list.rows(rows.length ? rows : list.all);
  list.search = rest;
  return rows.length > 0;
}

function show() {
  const pressed = [...filters.querySelectorAll('[aria-pressed="true"]')].map((button) => button.dataset.severity);
  const words = wordsOf(filters.querySelector("input"));
  let shown = 0;
  for (const group of document.querySelectorAll(".group")) {
    const findings = [...group.querySelectorAll(".finding")];
    for (const finding of findings) {
      const found = search(finding, words);
      finding.hidden = !(found && pressed.includes(finding.dataset.severity));
    }
    const here = findings.filter((finding) => !finding.hidden);
    group.hidden = !here.length;
    tally(group, here);
    shown += here.length;
  }
  const all = document.querySelectorAll(".finding").length;
  filters.querySelector(".status").textContent = `${shown} of ${many(all, "problem")} shown`;
}

// Opens the card, or the part of a site, that the address names.
function open() {
  const details = document.getElementById(location.hash.slice(1))?.querySelector(":scope > details");
  if (details) details.open = true;
}
addEventListener("hashchange", open);
open();

function clear() {
  filters.querySelector("input").value = "";
  for (const button of filters.querySelectorAll("button")) button.setAttribute("aria-pressed", "true");
  show();
}

if (filters) {
  filters.hidden = false;
  onSearch(filters.querySelector("input"), show);
  filters.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      show();
    }
  });
  // A line of the overview leads to its card, also where that is filtered away.
  document.addEventListener("click", (event) => {
    const line = event.target.closest(".overview a");
    if (!line) return;
    const card = document.getElementById(line.hash.slice(1));
    if (card.hidden) clear();
    card.querySelector("details").open = true;
  });
  show();
}

// --- tables ---

for (const part of document.querySelectorAll(".searchable")) {
  const search = part.querySelector(".filters");
  if (!search) continue;
  const [field, status] = [search.querySelector("input"), search.querySelector(".status")];
  const rows = [...part.querySelectorAll("tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  search.hidden = false;
  onSearch(field, () => {
    const words = wordsOf(field);
    rows.forEach((row, number) => {
      row.hidden = !words.every((word) => texts[number].includes(word));
    });
    const found = rows.filter((row) => !row.hidden).length;
    status.textContent = words.length ? `${plain(found)} of ${many(rows.length, "row")}` : many(rows.length, "row");
  });
}

// Paper has all findings, and opens nothing: what is closed is opened for it, and closed again.
let opened = [];
addEventListener("beforeprint", () => {
  for (const group of document.querySelectorAll(".group")) tally(group, [...group.querySelectorAll(".finding")]);
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
  if (filters) show();
});
