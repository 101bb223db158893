// The filters of the findings: three buttons and a field hide the others. Without this script, all are shown.
const filters = document.querySelector(".filters");

const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// Counts the visible cards below a heading.
function tally(group, findings) {
  const places = findings.reduce((sum, finding) => sum + Number(finding.dataset.count), 0);
  group.querySelector(".tally").textContent = `· ${many(findings.length, "finding")}, ${many(places, "occurrence")}`;
}

function show() {
  const pressed = [...filters.querySelectorAll('[aria-pressed="true"]')].map((button) => button.dataset.severity);
  const words = filters.querySelector("input").value.trim().toLowerCase().split(/\s+/);
  let shown = 0;
  for (const group of document.querySelectorAll(".group")) {
    const isPressed = pressed.includes(group.dataset.severity);
    const findings = [...group.querySelectorAll(".finding")];
    for (const finding of findings) {
      const text = finding.textContent.toLowerCase();
      finding.hidden = !(isPressed && words.every((word) => text.includes(word)));
    }
    const here = findings.filter((finding) => !finding.hidden);
    group.hidden = !here.length;
    tally(group, here);
    shown += here.length;
  }
  const all = document.querySelectorAll(".finding").length;
  filters.querySelector(".shown").textContent = `${shown} of ${many(all, "finding")} shown`;
}

function clear() {
  filters.querySelector("input").value = "";
  for (const button of filters.querySelectorAll("button")) button.setAttribute("aria-pressed", "true");
  show();
}

if (filters) {
  filters.hidden = false;
  filters.addEventListener("input", show);
  filters.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) {
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      show();
    }
  });
  filters.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input")) {
      event.target.value = "";
      show();
    }
  });
  // A line of the overview leads to its card, also where that is filtered away.
  document.querySelector(".overview").addEventListener("click", (event) => {
    const line = event.target.closest("a");
    if (line && document.getElementById(line.hash.slice(1)).hidden) clear();
  });
  show();
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
