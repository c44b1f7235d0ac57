"use strict";

/* The list: filters, orders, pages. */

const PAGE_ROWS = 50;

const KEYS = {
  index: (row) => row.index,
  /* Dictionary order: ignore accents and punctuation at the beginning. */
  name: (row) =>
    row.name.toLowerCase().normalize("NFD").replace(/^[^\p{L}\p{N}]+|\p{M}+/gu, ""),
  pick: (row) => extractors[row.pick],
  rule: (row) => rules[row.rule],
  score0: (row) => row.candidates[0].score,
  score1: (row) => row.candidates[1].score,
  score2: (row) => row.candidates[2].score,
  agreement: (row) => row.agreement,
  margin: (row) => (row.margin === null ? null : Math.abs(row.margin)),
};
/* Sort key of an article for each order of the menu, ascending. */
const ORDERS = {
  batch: (row) => row.index,
  close: (row) => (row.margin === null ? 2 : Math.abs(row.margin)),
  none: (row) => (row.consensus === 0 ? 0 : 1),
  low: (row) => (row.agreement === null ? 2 : row.agreement),
};

let list = { ...EVERYTHING };
let shown = rows; /* the rows of the list, in its order */

const FILTERS = ["kind", "pick", "rule", "state"];
const heads = [...document.querySelectorAll("#list th[data-key]")];

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const byOrder = (name) => (a, b) =>
  ORDERS[name](a) - ORDERS[name](b) || a.index - b.index;

/* Articles without a value are last in both directions. */
const byColumn = (key, descending) => {
  const place = new Map(rows.map((row) => [row, KEYS[key](row)]));
  return (a, b) => {
    const [one, other] = [place.get(a), place.get(b)];
    if (one === null || other === null) {
      return (one === null) - (other === null) || a.index - b.index;
    }
    return (descending ? compare(other, one) : compare(one, other)) || a.index - b.index;
  };
};

let wholeTexts = null;
const wholeText = (row) => {
  if (wholeTexts === null) {
    wholeTexts = new Map();
    for (const block of document.querySelectorAll('script[id^="text-"]')) {
      const texts = JSON.parse(block.textContent).texts.map((segments) => segments.join(""));
      wholeTexts.set(Number(block.id.slice(5)), texts.join("\n").toLowerCase());
    }
  }
  return wholeTexts.get(row.index) || "";
};

/* What a bar of a chart counts. */
const BARS = {
  pairs: (row, label, series) => row.pairs[label] === series,
  scores: (row, label, series) => row.candidates[series]?.scoreStep === label,
  tokens: (row, label, series) => row.candidates[series]?.tokenStep === label,
};

const hasState = (row, value) => {
  const [state, extractor] = value.split(".").reverse();
  return row.candidates.some((candidate) => states[candidate.state] === state
    && (extractor === undefined || extractors[candidate.extractor] === extractor));
};

const matches = (row) => {
  const sought = list.search.trim().toLowerCase();
  const [chart, label, series] = list.bar.split("-");
  return (list.kind === "" || row.kinds.includes(kinds.indexOf(list.kind)))
    && (list.pick === "" || extractors[row.pick] === list.pick)
    && (list.rule === "" || rules[row.rule] === list.rule)
    && (list.state === "" || hasState(row, list.state))
    && (list.bar === "" || BARS[chart](row, Number(label), Number(series)))
    && (sought === "" || row.found.includes(sought) || wholeText(row).includes(sought));
};

const cell = (key, label, ...children) =>
  make("td", { "data-key": key, "data-label": label }, ...children);

const numberCell = (key, label, text, isBest) => {
  const made = cell(key, label, text);
  made.className = isBest ? "number best" : "number";
  return made;
};

const listed = (row) => {
  const link = make("a", { href: articleAddress(row, list) }, isolated(row.name));
  const name = cell("name", "Article", link);
  if (row.id !== null && row.id !== row.name) name.append(make("small", {}, isolated(row.id)));
  const rule = rules[row.rule];
  return make(
    "tr", {},
    cell("index", "#", String(row.index)),
    name,
    cell("pick", "Pick", chip(row.pick)),
    cell("rule", "Rule", word(`rule-${rule}`, rule)),
    ...row.candidates.map((candidate, i) =>
      numberCell(`score${i}`, extractors[i], fixed(candidate.score),
        candidate.score !== null && i === row.pick)),
    numberCell("agreement", "Agreement", fixed(row.agreement)),
    numberCell("margin", "Margin", signed(row.margin)),
  );
};

const showPage = () => {
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
  const page = Math.min(Number(list.page), pages);
  list.page = String(page);
  const first = (page - 1) * PAGE_ROWS;
  document.querySelector("#list tbody").replaceChildren(
    ...shown.slice(first, first + PAGE_ROWS).map(listed));
  byId("page").textContent = `Page ${counted(page)} of ${counted(pages)}`;
  byId("back").disabled = page === 1;
  byId("forth").disabled = page === pages;
  byId("pages").hidden = pages === 1;
  for (const id of ["to-articles", "to-list"]) byId(id).href = `#articles${queryOf(list)}`;
};

const showCount = () => {
  byId("count").textContent =
    (shown.length === rows.length
      ? `${counted(rows.length)} articles`
      : `${counted(shown.length)} of ${counted(rows.length)} articles`)
    + (unlisted ? `; ${counted(unlisted)} more of the batch are left out of the list` : "");
};

/* Make the controls show what the list shows. */
const showControls = () => {
  for (const name of FILTERS) byId(name).value = list[name];
  if (byId("search").value !== list.search) byId("search").value = list.search;
  byId("order").value = list.sort === "" ? list.order : "column";
  for (const head of heads) {
    if (head.dataset.key === list.sort.replace(/^-/, "")) {
      head.setAttribute("aria-sort", list.sort.startsWith("-") ? "descending" : "ascending");
    } else {
      head.removeAttribute("aria-sort");
    }
  }
  const bar = list.bar && document.querySelector(`#view-overview [data-bar="${list.bar}"]`);
  byId("bar").hidden = list.bar === "";
  byId("bar").replaceChildren(bar ? bar.dataset.label : list.bar, " ",
    make("span", { class: "unseen" }, "remove"), make("span", { "aria-hidden": "true" }, "×"));
};

const update = () => {
  const order = list.sort === ""
    ? byOrder(list.order) : byColumn(list.sort.replace(/^-/, ""), list.sort.startsWith("-"));
  shown = rows.filter(matches).sort(order);
  showControls();
  showPage();
  showCount();
};

/* Show what an address says; nothing is sorted anew if it is what the list shows already. */
const showList = (wanted) => {
  if (queryOf(wanted) === queryOf(list)) return;
  list = wanted;
  update();
};

const keepAddress = () => window.history.replaceState(null, "", `#articles${queryOf(list)}`);

const change = (changes) => {
  list = { ...list, page: "1", ...changes };
  update();
  keepAddress();
};

const turn = (by) => {
  list.page = String(Number(list.page) + by);
  showPage();
  keepAddress();
  byId("articles-heading").focus();
  window.scrollTo(0, 0);
};

/* Show the page of the list that has this article; return its link, if there is one. */
const showPageOf = (index) => {
  const place = shown.findIndex((row) => row.index === index);
  if (place < 0) return null;
  list.page = String(Math.floor(place / PAGE_ROWS) + 1);
  showPage();
  keepAddress();
  return document.querySelector(`#list a[href^="#article-${index}?"], #list a[href="#article-${index}"]`);
};

const options = (select, names) =>
  select.append(...names.map((name) => make("option", { value: name }, name.replace(".", ": "))));
options(byId("pick"), extractors);
options(byId("rule"), rules.filter((_, number) => rows.some((row) => row.rule === number)));
options(byId("state"), stateNames);

byId("controls").addEventListener("submit", (event) => event.preventDefault());
for (const name of FILTERS) {
  byId(name).addEventListener("change", () => change({ [name]: byId(name).value }));
}
byId("search").addEventListener("input", () => change({ search: byId("search").value }));
byId("order").addEventListener("change", () => change({ order: byId("order").value, sort: "" }));
byId("reset").addEventListener("click", () => change(EVERYTHING));
byId("bar").addEventListener("click", () => {
  change({ bar: "" });
  byId("search").focus();
});
for (const head of heads) {
  head.firstElementChild.addEventListener("click", () => {
    const { key } = head.dataset;
    change({ sort: list.sort === key ? `-${key}` : key });
  });
}
byId("back").addEventListener("click", () => turn(-1));
byId("forth").addEventListener("click", () => turn(1));
