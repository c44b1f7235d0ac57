"use strict";

/* The data blocks of the page, and elements made of them. Every script after this one uses these
   names: scripts share their top-level constants. */

const byId = (id) => document.getElementById(id);
const data = (id) => JSON.parse(byId(id).textContent);

/* Create an element with attributes and children; strings become text nodes. */
const make = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

/* Text from the batch in isolation: its direction does not affect the text around it. */
const isolated = (text) => make("bdi", { dir: "auto" }, text);

/* A name that a line can break behind its underscores. */
const breakable = (name) => name.split(/(?<=_)/).flatMap((part) => [part, make("wbr", {})]);

/* A word with a button that shows its explanation. */
const word = (id, text) =>
  make("button", { type: "button", class: "term", popovertarget: id }, ...breakable(text));

const vocabulary = data("vocabulary");
const { extractors, rules, states, kinds } = vocabulary;

const candidateOf = ([state, active, tokens, shingles, shared, score, tokenStep, scoreStep], extractor) =>
  ({ extractor, state, active, tokens, shingles, shared, score, tokenStep, scoreStep });

const rows = data("rows").map((row) => {
  const [index, id, name, url, pick, rule, agreement, margin, consensus, pool] = row;
  const [candidates, pairs, kindNumbers, reason, sentences, errors] = row.slice(10);
  return {
    index, id, name, url, pick, rule, agreement, margin, consensus, pool,
    candidates: candidates.map(candidateOf),
    pairs, kinds: kindNumbers, reason, sentences, errors,
    found: [name, id, url, ...errors].filter((part) => part !== null).join("\n").toLowerCase(),
  };
});
const unlisted = data("unlisted"); /* the number of articles left out of the list */
const places = new Map(rows.map((row, place) => [row.index, place]));

/* The texts of an article, or null if the page has none. */
const textsOf = (row) => {
  const block = byId(`text-${row.index}`);
  return block ? JSON.parse(block.textContent) : null;
};

const fixed = (number) => (number === null ? "–" : number.toFixed(4));
const signed = (number) =>
  number === null ? "–" : (number < 0 ? "−" : "+") + Math.abs(number).toFixed(4);
const counted = (number) => number.toLocaleString("en-US");
const chip = (extractor) => make("span", { class: `chip chip-${extractor}` }, extractors[extractor]);
