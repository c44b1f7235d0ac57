"use strict";

/* Copies for the clipboard, and the list as a file. */

/* Without a secure context a browser has no clipboard; a selected text can be copied there. */
const copyBySelection = (text) => {
  const area = make("textarea", { class: "unseen", readonly: "" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
};

const copy = async (text, status) => {
  let isCopied = false;
  const focused = document.activeElement;
  try {
    await navigator.clipboard.writeText(text);
    isCopied = true;
  } catch {
    isCopied = copyBySelection(text);
    focused.focus();
  }
  status.textContent = isCopied ? "Copied." : "The browser does not allow copying.";
  window.setTimeout(() => { status.textContent = ""; }, 4000);
};

/* The fields have the names of `selection report --json`. */
const exported = (row) => {
  const fields = {
    index: row.index, id: row.id, name: row.name, url: row.url,
    pick: extractors[row.pick], rule: rules[row.rule], reason: row.reason,
    consensus: row.consensus, agreement: row.agreement, margin: row.margin,
  };
  for (const candidate of row.candidates) {
    const name = extractors[candidate.extractor];
    fields[`${name}_state`] = states[candidate.state];
    fields[`${name}_active`] = Boolean(candidate.active);
    for (const key of ["tokens", "shingles", "shared", "score"]) {
      fields[`${name}_${key}`] = candidate[key];
    }
  }
  return fields;
};

/* A spreadsheet runs a text that begins like a formula, also in the full-width form of its
   characters; an apostrophe makes it text. */
const csvCell = (value) => {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csvOf = (records) => {
  const names = Object.keys(records[0] || {});
  const lines = records.map((record) => names.map((name) => csvCell(record[name])).join(","));
  /* The byte order mark: without it, some spreadsheets do not read UTF-8. */
  return `\ufeff${[names.join(","), ...lines].join("\r\n")}\r\n`;
};

const download = (name, type, text) => {
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
};

const copyLink = (status) => copy(window.location.href, status);

byId("copy-list-link").addEventListener("click", () => copyLink(byId("list-copied")));
byId("copy-article-link").addEventListener("click", () => copyLink(byId("article-copied")));
byId("download-csv").addEventListener("click", () =>
  download("articles.csv", "text/csv", csvOf(shown.map(exported))));
byId("download-json").addEventListener("click", () =>
  download("articles.json", "application/json", JSON.stringify(shown.map(exported), null, 1)));
