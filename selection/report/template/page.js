"use strict";
(() => {
  const PAGE_ROWS = 50;

  const byId = (id) => document.getElementById(id);
  const data = (id) => JSON.parse(byId(id).textContent);

  /* Create an element with attributes and children; strings become text nodes. */
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  /* Text from the batch in isolation: its direction does not affect the text around it. */
  const isolated = (text) => make("bdi", { dir: "auto" }, text);

  const vocabulary = data("vocabulary");
  const { extractors, rules, states, lowAgreement } = vocabulary;

  const rows = data("rows").map((row) => {
    const [index, id, name, url, pick, rule, agreement, margin, consensus, pool] = row;
    const candidates = row[10].map(([state, active, tokens, shingles, shared, score], extractor) =>
      ({ extractor, state, active, tokens, shingles, shared, score }));
    return {
      index, id, name, url, pick, rule, agreement, margin, consensus, pool, candidates,
      sentences: row[11],
      errors: row[12],
      found: [name, id, url, ...row[12]].filter((part) => part !== null).join("\n").toLowerCase(),
    };
  });
  const unlisted = data("unlisted"); /* the number of articles left out of the list */
  const places = new Map(rows.map((row, place) => [row.index, place]));

  const fixed = (number) => (number === null ? "–" : number.toFixed(4));
  const signed = (number) =>
    number === null ? "–" : (number < 0 ? "−" : "+") + Math.abs(number).toFixed(4);
  const counted = (number) => number.toLocaleString("en-US");

  /* ---------------------------------------------------------------- the list */

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

  const controls = {
    search: byId("search"), order: byId("order"),
    pick: byId("pick"), rule: byId("rule"), state: byId("state"),
  };
  const heads = [...document.querySelectorAll("#list th[data-key]")];
  let column = null;
  let isDescending = false;
  let shown = rows;
  let page = 0;
  let wholeTexts = null;

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

  const textOf = (row) => {
    if (wholeTexts === null) {
      wholeTexts = new Map();
      for (const block of document.querySelectorAll('script[id^="text-"]')) {
        const texts = JSON.parse(block.textContent).texts.map((segments) => segments.join(""));
        wholeTexts.set(Number(block.id.slice(5)), texts.join("\n").toLowerCase());
      }
    }
    return wholeTexts.get(row.index) || "";
  };

  const matches = () => {
    const sought = controls.search.value.trim().toLowerCase();
    const pick = controls.pick.value;
    const rule = controls.rule.value;
    const state = controls.state.value;
    return (row) =>
      (pick === "" || row.pick === Number(pick)) &&
      (rule === "" || row.rule === Number(rule)) &&
      (state === "" || row.candidates.some((candidate) => candidate.state === Number(state))) &&
      (sought === "" || row.found.includes(sought) || textOf(row).includes(sought));
  };

  const chip = (extractor) =>
    make("span", { class: `chip chip-${extractor}` }, extractors[extractor]);

  const cell = (key, label, ...children) => make("td", { "data-key": key, "data-label": label }, ...children);

  const numberCell = (key, label, text, isBest) => {
    const made = cell(key, label, text);
    made.className = isBest ? "number best" : "number";
    return made;
  };

  const listed = (row) => {
    const link = make("a", { href: `#article-${row.index}` }, isolated(row.name));
    const name = cell("name", "Article", link);
    if (row.id !== null && row.id !== row.name) name.append(make("small", {}, isolated(row.id)));
    return make(
      "tr", {},
      cell("index", "#", String(row.index)),
      name,
      cell("pick", "Pick", chip(row.pick)),
      cell("rule", "Rule", make("span", { class: "rule" }, rules[row.rule])),
      ...row.candidates.map((candidate, i) =>
        numberCell(`score${i}`, extractors[i], fixed(candidate.score),
          candidate.score !== null && i === row.pick)),
      numberCell("agreement", "Agreement", fixed(row.agreement)),
      numberCell("margin", "Margin", signed(row.margin)),
    );
  };

  const showPage = () => {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
    page = Math.min(Math.max(page, 0), pages - 1);
    const first = page * PAGE_ROWS;
    document.querySelector("#list tbody").replaceChildren(
      ...shown.slice(first, first + PAGE_ROWS).map(listed));
    byId("page").textContent = `Page ${counted(page + 1)} of ${counted(pages)}`;
    byId("back").disabled = page === 0;
    byId("forth").disabled = page === pages - 1;
    byId("pages").hidden = pages === 1;
    byId("count").textContent =
      (shown.length === rows.length
        ? `${counted(rows.length)} articles`
        : `${counted(shown.length)} of ${counted(rows.length)} articles`)
      + (unlisted ? `; ${counted(unlisted)} more of the batch are left out of the list` : "");
  };

  const update = () => {
    shown = rows.filter(matches()).sort(
      column === null ? byOrder(controls.order.value) : byColumn(column, isDescending));
    for (const head of heads) {
      if (head.dataset.key === column) {
        head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      } else {
        head.removeAttribute("aria-sort");
      }
    }
    page = 0;
    showPage();
  };

  const orderBy = (name) => {
    column = null;
    controls.order.value = name;
    update();
  };

  const options = (select, names, isUsed) => {
    names.forEach((name, number) => {
      if (isUsed(number)) select.append(make("option", { value: number }, name));
    });
  };
  options(controls.pick, extractors, () => true);
  options(controls.rule, rules, (number) => rows.some((row) => row.rule === number));
  options(controls.state, states, () => true);

  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["pick", "rule", "state"]) controls[name].addEventListener("change", update);
  controls.search.addEventListener("input", update);
  controls.order.addEventListener("change", () => orderBy(controls.order.value));
  byId("reset").addEventListener("click", () => {
    for (const name of ["search", "pick", "rule", "state"]) controls[name].value = "";
    orderBy("batch");
  });
  for (const head of heads) {
    head.firstElementChild.addEventListener("click", () => {
      isDescending = column === head.dataset.key && !isDescending;
      column = head.dataset.key;
      controls.order.value = "column";
      update();
    });
  }
  const turn = (by) => {
    page += by;
    showPage();
    byId("articles-heading").focus();
    window.scrollTo(0, 0);
  };
  byId("back").addEventListener("click", () => turn(-1));
  byId("forth").addEventListener("click", () => turn(1));

  /* --------------------------------------------------------------- one article */

  /* The score's formula with a candidate's numbers in place of the names. */
  const formula = (row, { shared, shingles }) => {
    const numbers = { shared, shingles, consensus: row.consensus };
    return vocabulary.score.replace(/[a-z]+/g, (name) => numbers[name]);
  };

  const sums = (row, candidate) => {
    const line = make("p", { class: "sums" });
    line.append(`${counted(candidate.tokens)} tokens, ${counted(candidate.shingles)} shingles`);
    if (candidate.shared === null || !row.consensus) return line;
    const { shared, shingles, score } = candidate;
    line.append(
      `, ${counted(shared)} in the consensus. `,
      `Coverage ${shared} / ${row.consensus} = ${fixed(shared / row.consensus)}, `,
      `support ${shared} / ${shingles} = ${fixed(shared / shingles)}, `,
      make("b", {}, `score ${formula(row, candidate)} = ${fixed(score)}`),
    );
    return line;
  };

  /* All counts and scores of the decision in one line. */
  const arithmetic = (row) => {
    const parts = row.candidates.filter((candidate) => candidate.active).map((candidate) => {
      const { shared, shingles, score } = candidate;
      const name = extractors[candidate.extractor];
      const size = `${shingles} ${shingles === 1 ? "shingle" : "shingles"}`;
      if (!row.consensus) return `${name} ${size}`;
      return `${name} ${shared} of ${size}, coverage ${shared}/${row.consensus}, `
        + `support ${shared}/${shingles}, score ${formula(row, candidate).replaceAll(" ", "")} = ${fixed(score)}`;
    });
    if (row.consensus !== null) parts.unshift(`consensus ${row.consensus}`);
    if (row.pool.length) {
      const pool = row.pool.map((extractor) => extractors[extractor]).join(", ");
      parts.push(`${row.consensus ? "tie pool" : "pool"} ${pool}`);
    }
    return [...parts, `rule ${rules[row.rule]}`].join("; ");
  };

  const stateOf = (row, candidate) => {
    const parts = [states[candidate.state]];
    if (!candidate.active && candidate.tokens) parts.push("did not take part");
    if (row.consensus !== null && row.pool.length > 1 && row.pool.includes(candidate.extractor)) {
      parts.push(row.consensus ? "in the tie pool" : "in the pool");
    }
    return parts.join(", ");
  };

  /* Text with its segments highlighted: surplus and consensus alternate. */
  const highlighted = (segments) => {
    const text = make("div", { class: "text", tabindex: "-1" });
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
    const isPick = candidate.extractor === row.pick;
    const title = make("h2", {}, chip(candidate.extractor));
    if (isPick) title.append(make("span", { class: "badge" }, "pick"));
    title.append(make("span", { class: "state" }, stateOf(row, candidate)));
    const head = make("header", {}, title, sums(row, candidate));
    const view = make("article", { class: isPick ? "candidate picked" : "candidate" }, head);
    const error = row.errors[candidate.extractor];
    if (error !== null) head.append(make("p", { class: "error" }, "Error: ", isolated(error)));
    if (texts === null) return view;
    const segments = texts.texts[candidate.extractor];
    if (segments.join("") === "") {
      view.append(make("p", { class: "empty" }, "No text."));
    } else if (row.consensus && candidate.active) {
      view.append(highlighted(segments));
    } else {
      view.append(make("div", { class: "text" }, segments.join("")));
    }
    const left = texts.left[candidate.extractor];
    if (left) view.append(make("p", { class: "empty" }, `${counted(left)} more characters are left out; the highlighting compares the shown text.`));
    return view;
  };

  const link = (id, row) => {
    if (row) byId(id).setAttribute("href", `#article-${row.index}`);
    else byId(id).removeAttribute("href");
  };

  const showArticle = (index) => {
    const row = rows[places.get(index)];
    const body = byId("article");
    byId("article-address").replaceChildren();
    link("before", null);
    link("after", null);
    if (!row) {
      byId("article-place").textContent = `Article ${index}`;
      byId("article-heading").textContent = "Not in this page";
      body.replaceChildren(make("p", {}, "The batch has no such article, or it is left out here."));
      return;
    }
    const place = shown.indexOf(row);
    link("before", place < 0 ? rows[places.get(index) - 1] : shown[place - 1]);
    link("after", place < 0 ? rows[places.get(index) + 1] : shown[place + 1]);
    byId("article-place").replaceChildren(`Article ${row.index}`);
    if (row.id !== null && row.id !== row.name) byId("article-place").append(", id ", isolated(row.id));
    byId("article-heading").replaceChildren(isolated(row.name));
    if (row.url !== null) {
      /* An address that was cut ends with an ellipsis and is not a link. */
      const isWeb = /^https?:\/\/.*[^…]$/i.test(row.url);
      byId("article-address").append(
        isWeb
          ? make("a", { href: row.url, rel: "noopener noreferrer", target: "_blank" }, isolated(row.url))
          : isolated(row.url));
    }
    const block = byId(`text-${row.index}`);
    const texts = block ? JSON.parse(block.textContent) : null;
    const why = make("div", { class: "why" },
      ...row.sentences.map((sentence) => make("p", {}, sentence)),
      make("p", { class: "arithmetic" }, arithmetic(row)),
      make("p", { class: "note" }, `Margin ${signed(row.margin)}; `
        + `agreement ${fixed(row.agreement)}${row.agreement !== null && row.agreement < lowAgreement
          ? ", low: this page may not be an article" : ""}.`));
    body.replaceChildren(why);
    if (texts && row.consensus) {
      body.append(make("ul", { class: "legend" },
        make("li", {}, make("mark", {}, "consensus"), " in a shingle of five tokens that at least two texts have"),
        make("li", {}, make("span", { class: "surplus" }, "surplus"), " in no such shingle")));
    }
    if (!texts && row.candidates.some((candidate) => candidate.tokens)) {
      body.append(make("p", { class: "note" }, "The texts of this article are left out of this page."));
    }
    body.append(make("div", { class: "texts" },
      ...row.candidates.map((candidate) => candidateView(row, candidate, texts))));
  };

  /* -------------------------------------------------------------------- views */

  const show = (view, heading) => {
    for (const name of ["overview", "articles", "article"]) {
      byId(`view-${name}`).hidden = name !== view;
    }
    for (const name of ["overview", "articles"]) {
      if (name === view) byId(`to-${name}`).setAttribute("aria-current", "page");
      else byId(`to-${name}`).removeAttribute("aria-current");
    }
    if (heading) {
      byId(heading).focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  };

  let last = null; /* the article shown last */

  const route = (isFirst) => {
    const hash = window.location.hash.slice(1);
    const article = /^article-(\d+)$/.exec(hash);
    const order = /^articles-(\w+)$/.exec(hash);
    if (article) {
      last = Number(article[1]);
      showArticle(last);
      show("article", "article-heading");
    } else if (hash === "articles" || (order && Object.hasOwn(ORDERS, order[1]))) {
      /* Only the browser's "back" leads from an article to this view: keep its order and page. */
      const isNew = order && byId("view-article").hidden;
      if (isNew) orderBy(order[1]);
      const place = isNew ? -1 : shown.findIndex((row) => row.index === last);
      if (place >= 0) {
        page = Math.floor(place / PAGE_ROWS);
        showPage();
      }
      show("articles", isFirst ? null : "articles-heading");
      const back = place >= 0 && document.querySelector(`#list a[href="#article-${last}"]`);
      if (back) back.focus();
    } else if (hash !== "main") {
      show("overview", isFirst ? null : "overview-heading");
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (!byId("view-article").hidden) {
      if (event.key === "Escape") window.location.hash = "#articles";
      else if (event.key === "ArrowLeft") byId("before").click();
      else if (event.key === "ArrowRight") byId("after").click();
    } else if (!byId("view-articles").hidden && /^Arrow(Up|Down)$/.test(event.key)) {
      const links = [...document.querySelectorAll("#list tbody a")];
      const at = links.indexOf(document.activeElement);
      const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
      if (at >= 0 && next) {
        event.preventDefault();
        next.focus();
      }
    }
  });
  window.addEventListener("hashchange", () => route(false));
  byId("without-script").hidden = true;
  update();
  route(true);
})();
