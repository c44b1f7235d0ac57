"use strict";

/* One article: the pick and its reason, how it was made, and the texts. */

/* The score's formula with a candidate's numbers in place of the names. */
const formula = (row, { shared, shingles }) => {
  const numbers = { shared, shingles, consensus: row.consensus };
  return vocabulary.score.replace(/[a-z]+/g, (name) => numbers[name]);
};

const SUMS = [
  ["tokens", "term-token", (row, { tokens }) => counted(tokens)],
  ["shingles", "term-shingle", (row, { shingles }) => counted(shingles)],
  ["in the consensus", "term-consensus", (row, { shared }) => (shared === null ? "–" : counted(shared))],
  ["coverage", "term-coverage", (row, { shared }) =>
    (row.consensus && shared !== null ? `${shared} / ${row.consensus} = ${fixed(shared / row.consensus)}` : "–")],
  ["support", "term-support", (row, { shared, shingles }) =>
    (row.consensus && shared !== null ? `${shared} / ${shingles} = ${fixed(shared / shingles)}` : "–")],
  ["score", "term-score", (row, candidate) =>
    (row.consensus && candidate.shared !== null ? `${formula(row, candidate)} = ${fixed(candidate.score)}` : "–")],
];

const sums = (row) => make("table", { class: "sums" },
  make("thead", {}, make("tr", {},
    make("th", { scope: "col" }, "candidate"),
    ...SUMS.map(([name, id]) => make("th", { scope: "col" }, word(id, name))))),
  make("tbody", {}, ...row.candidates.map((candidate) => make("tr", {},
    make("th", { scope: "row" }, chip(candidate.extractor)),
    ...SUMS.map(([name, , text]) => make("td", { "data-label": name }, text(row, candidate)))))));

/* The names of the extractors that the last step chose from. */
const poolOf = (row) => {
  const names = row.pool.map((extractor) => extractors[extractor]).join(", ");
  return names === "" ? [] : [
    ...(row.consensus ? ["The ", word("term-tie", "tie"), ": "] : ["Chosen from: "]), `${names}. `];
};

/* The steps of every pick, each with what it found in this article. */
const howOf = (row) => {
  const shingles = row.candidates.filter((candidate) => candidate.active)
    .map(({ extractor, shingles: n }) => `${extractors[extractor]} ${counted(n)}`).join(", ");
  const isCompared = row.consensus !== null;
  const rule = rules[row.rule];
  const found = [
    [row.sentences[0]],
    [shingles === "" ? "No shingles." : `Shingles: ${shingles}.`],
    isCompared ? [row.sentences[1]] : ["Nothing to compare."],
    [...poolOf(row), row.sentences.at(-1), " The rule is ", word(`rule-${rule}`, rule), "; ",
      word("term-margin", "margin"), ` ${signed(row.margin)}, `,
      word("term-agreement", "agreement"), ` ${fixed(row.agreement)}.`],
  ];
  const steps = [...document.querySelectorAll("#steps li")].map((step, number) => {
    const item = step.cloneNode(true);
    item.append(make("p", { class: "found" }, ...found[number]));
    return item;
  });
  return make("details", { class: "how" },
    make("summary", {}, "How this pick was made, with the sums"),
    make("ol", {}, ...steps), sums(row));
};

const stateOf = (row, candidate) => {
  const name = states[candidate.state];
  const state = make("span", { class: "state" }, word(`term-${name}`, name));
  if (!candidate.active && candidate.tokens) state.append(", did not take part");
  if (row.consensus !== null && row.pool.length > 1 && row.pool.includes(candidate.extractor)) {
    if (row.consensus) state.append(", in the ", word("term-tie", "tie"), " pool");
    else state.append(", in the pool");
  }
  return state;
};

/* Text with its segments highlighted: surplus and consensus alternate. */
const highlighted = (segments) => {
  const text = make("div", { class: "text", dir: "auto" });
  segments.forEach((segment, number) => {
    if (number % 2) {
      text.append(make("mark", {}, segment));
    } else {
      /* White space at the ends separates two segments and is not highlighted. */
      const core = segment.trim();
      const start = segment.indexOf(core);
      text.append(segment.slice(0, start));
      if (core !== "") text.append(make("span", { class: "surplus" }, core));
      text.append(segment.slice(start + core.length));
    }
  });
  return text;
};

const candidateView = (row, candidate, texts) => {
  const { extractor } = candidate;
  const isPick = extractor === row.pick;
  const title = make("h2", {}, chip(extractor));
  if (isPick) title.append(make("span", { class: "badge" }, "pick"));
  title.append(stateOf(row, candidate));
  const size = make("p", { class: "size" }, `${counted(candidate.tokens)} tokens`);
  if (candidate.score !== null) {
    size.append(", ", word("term-score", "score"), " ", make("b", {}, fixed(candidate.score)));
  }
  const view = make("article",
    { class: isPick ? "candidate picked" : "candidate", "data-extractor": extractor }, title, size);
  const error = row.errors[extractor];
  if (error !== null) view.append(make("p", { class: "error" }, "Error: ", isolated(error)));
  if (texts === null) return view;
  const segments = texts.texts[extractor];
  if (segments.join("") === "") {
    view.append(make("p", { class: "empty" }, "No text."));
  } else if (row.consensus && candidate.active) {
    view.append(highlighted(segments));
  } else {
    view.append(make("div", { class: "text", dir: "auto" }, segments.join("")));
  }
  const left = texts.left[extractor];
  if (left) view.append(make("p", { class: "empty" }, `${counted(left)} more characters are left out; the highlighting compares the shown text.`));
  return view;
};

/* On a narrow screen one text is visible, the pick first, and one of these buttons shows another. */
const textViews = (row, texts) => {
  const views = make("div", { class: "texts" },
    ...row.candidates.map((candidate) => candidateView(row, candidate, texts)));
  const buttons = row.candidates.map(({ extractor }) =>
    make("button", { type: "button" }, chip(extractor),
      ...(extractor === row.pick ? [make("span", { class: "badge" }, "pick")] : [])));
  const open = (extractor) => {
    views.dataset.open = extractor;
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", number === extractor));
  };
  buttons.forEach((button, number) => button.addEventListener("click", () => open(number)));
  open(row.pick);
  return [make("div", { class: "switch", role: "group", "aria-label": "Shown text" }, ...buttons), views];
};

const legend = () => make("ul", { class: "legend" },
  make("li", {}, make("mark", {}, word("term-consensus", "consensus")), " in a ",
    word("term-shingle", "shingle"), " of five tokens that at least two texts have"),
  make("li", {}, make("span", { class: "surplus" }, word("term-surplus", "surplus")), " in no such shingle"));

const lead = (id, row) => {
  if (row) byId(id).setAttribute("href", articleAddress(row, list));
  else byId(id).removeAttribute("href");
};

const showAround = (row) => {
  const place = shown.indexOf(row);
  lead("before", place < 0 ? rows[places.get(row.index) - 1] : shown[place - 1]);
  lead("after", place < 0 ? rows[places.get(row.index) + 1] : shown[place + 1]);
};

const showHead = (row) => {
  byId("article-place").replaceChildren(`Article ${row.index}`);
  if (row.id !== null && row.id !== row.name) byId("article-place").append(", id ", isolated(row.id));
  byId("article-number").append(
    "Articles are numbered from 0: ", make("code", {}, `selection explain --index ${row.index}`));
  byId("article-heading").textContent = row.name; /* dir="auto" ignores a bdi element */
  byId("article-reason").replaceChildren(chip(row.pick), `: ${row.reason}.`);
  if (row.kinds.includes(vocabulary.low)) {
    byId("article-reason").append(" ", make("span", { class: "low" },
      word("term-agreement", "Agreement"), " is low: this page may not be an article."));
  }
  if (row.url !== null) {
    /* An address that was cut ends with an ellipsis and is not a link. */
    const isWeb = /^https?:\/\/.*[^…]$/i.test(row.url);
    byId("article-address").append(
      isWeb
        ? make("a", { href: row.url, rel: "noopener noreferrer", target: "_blank" }, isolated(row.url))
        : isolated(row.url));
  }
  byId("how-example").hidden = false;
  const example = byId("how-example").firstElementChild;
  example.href = articleAddress(row, list);
  example.textContent = `Article ${row.index}`;
};

let pickedText = ""; /* of the article shown */

const showArticle = (index) => {
  const row = rows[places.get(index)];
  const body = byId("article");
  for (const id of ["article-address", "article-number", "article-reason", "article-copied"]) {
    byId(id).replaceChildren();
  }
  lead("before", null);
  lead("after", null);
  pickedText = "";
  byId("copy-text").hidden = true;
  if (!row) {
    byId("article-place").textContent = `Article ${index}`;
    byId("article-heading").textContent = "Not in this page";
    body.replaceChildren(make("p", {}, "The batch has no such article, or it is left out here."));
    return;
  }
  showAround(row);
  showHead(row);
  const texts = textsOf(row);
  if (texts) {
    pickedText = texts.texts[row.pick].join("");
    byId("copy-text").hidden = pickedText === "";
  }
  body.replaceChildren(howOf(row));
  if (texts && row.consensus) body.append(legend());
  if (!texts && row.candidates.some((candidate) => candidate.tokens)) {
    body.append(make("p", { class: "note" }, "The texts of this article are left out of this page."));
  }
  body.append(...textViews(row, texts));
};

byId("copy-text").addEventListener("click", () => copy(pickedText, byId("article-copied")));
