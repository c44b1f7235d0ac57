"use strict";

// The order of the batches: #order=articles in the address, #order=-articles for the largest first.

const table = document.querySelector("table");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const heads = Array.from(table.tHead.rows[0].cells);
const compare = new Intl.Collator("en", { numeric: true }).compare;

function numberIn(row, column) {
  const cell = row.cells[column];
  return cell && !row.classList.contains("failed")
    ? Number.parseFloat(cell.textContent.replaceAll(",", "")) : NaN;
}

function ordered(column, sign) {
  if (column === 0) {
    return rows
      .map((row) => [row.querySelector("th bdi").textContent, row])
      .sort((one, other) => sign * compare(one[0], other[0]));
  }
  // Batches without the number are last in both directions.
  return rows
    .map((row) => [numberIn(row, column), row])
    .sort((one, other) => Number.isNaN(one[0]) - Number.isNaN(other[0])
      || sign * (one[0] - other[0]) || 0);
}

function show() {
  const [, minus, key] = /^#order=(-?)(.*)$/.exec(location.hash) ?? [];
  const column = heads.findIndex((head) => head.dataset.key === key);
  for (const [number, head] of heads.entries()) {
    if (number === column) head.setAttribute("aria-sort", minus ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const order = column < 0 ? rows : ordered(column, minus ? -1 : 1).map(([, row]) => row);
  const fragment = document.createDocumentFragment();
  for (const row of order) fragment.append(row);
  body.append(fragment);
}

for (const [column, head] of heads.entries()) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  button.addEventListener("click", () => {
    const current = head.getAttribute("aria-sort");
    // Numbers begin with the largest, names with the first.
    const first = column ? "descending" : "ascending";
    const isDescending = current ? current === "ascending" : first === "descending";
    location.replace(`#order=${isDescending ? "-" : ""}${head.dataset.key}`);
  });
  head.replaceChildren(button);
}
table.classList.add("sortable");
addEventListener("hashchange", () => { if (!location.hash || location.hash.startsWith("#order=")) show(); });
if (location.hash.startsWith("#order=")) show();
