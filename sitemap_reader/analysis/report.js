// A search field above each long table hides the rows that lack one of the words. Without this script, all are shown.
for (const part of document.querySelectorAll(".searchable")) {
  const filters = part.querySelector(".filters");
  if (!filters) continue;
  const [field, status] = [filters.querySelector("input"), filters.querySelector(".shown")];
  const rows = [...part.querySelectorAll("tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const words = field.value.trim().toLowerCase().split(/\s+/);
    let shown = 0;
    rows.forEach((row, number) => {
      row.hidden = !words.every((word) => texts[number].includes(word));
      shown += !row.hidden;
    });
    const all = rows.length.toLocaleString("en");
    status.textContent = field.value.trim() ? `${shown.toLocaleString("en")} of ${all} rows` : `${all} rows`;
  };
  filters.hidden = false;
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      field.value = "";
      show();
    }
  });
}
