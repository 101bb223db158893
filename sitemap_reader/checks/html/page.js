// The filters of the findings: three buttons and a field hide what is not asked for. Without it, all is there to read.
const filters = document.querySelector(".filters");

function show() {
  const pressed = [...filters.querySelectorAll('[aria-pressed="true"]')].map((button) => button.dataset.severity);
  const words = filters.querySelector("input").value.trim().toLowerCase().split(/\s+/);
  let shown = 0;
  for (const group of document.querySelectorAll(".group")) {
    const asked = pressed.includes(group.dataset.severity);
    let here = 0;
    for (const finding of group.querySelectorAll(".finding")) {
      const text = finding.textContent.toLowerCase();
      finding.hidden = !(asked && words.every((word) => text.includes(word)));
      here += !finding.hidden;
    }
    group.hidden = !here;
    shown += here;
  }
  const all = document.querySelectorAll(".finding").length;
  filters.querySelector(".shown").textContent = `${shown} of ${all} findings shown`;
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
  show();
}

// Paper opens nothing: what is closed is opened for it, and closed again.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
