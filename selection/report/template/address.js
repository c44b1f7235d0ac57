"use strict";

/* The part of the address after "#": a view, and what the list shows, in the form of a query.
   #articles?kind=low&sort=-margin, #article-17?pick=trafilatura. */

const ORDER_NAMES = ["batch", "close", "none", "low"];
const COLUMNS = [...document.querySelectorAll("#list th[data-key]")].map((head) => head.dataset.key);

const EVERYTHING = {
  search: "", kind: "", pick: "", rule: "", state: "", bar: "", order: "batch", sort: "", page: "1",
};

const stateNames = [
  ...states, ...extractors.flatMap((extractor) => states.map((state) => `${extractor}.${state}`)),
];

const IS_VALID = {
  search: () => true,
  kind: (value) => kinds.includes(value),
  pick: (value) => extractors.includes(value),
  rule: (value) => rules.includes(value),
  state: (value) => stateNames.includes(value),
  bar: (value) => /^(pairs|scores|tokens)-\d{1,2}-\d$/.test(value),
  order: (value) => ORDER_NAMES.includes(value),
  sort: (value) => COLUMNS.includes(value.replace(/^-/, "")),
  page: (value) => /^[1-9]\d{0,8}$/.test(value),
};

/* The query of a list, "" if it shows everything in the order of the batch. */
const queryOf = (list) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(list)) {
    if (value !== EVERYTHING[name]) query.set(name, value);
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
};

/* A value that does not exist is ignored. */
const listOf = (query) => {
  const list = { ...EVERYTHING };
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(IS_VALID, name) && IS_VALID[name](value)) list[name] = value;
  }
  return list;
};

const parseAddress = (hash) => {
  const [, name, query] = /^#?([^?]*)\??(.*)$/s.exec(hash);
  const article = /^article-(\d+)$/.exec(name);
  if (article) return { view: "article", index: Number(article[1]), list: listOf(query) };
  if (name === "articles") return { view: "articles", list: listOf(query) };
  return { view: name === "how" ? "how" : "overview", list: null };
};

const articleAddress = (row, list) => `#article-${row.index}${queryOf(list)}`;
