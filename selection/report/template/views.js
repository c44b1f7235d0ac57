"use strict";

/* The views of the page, their addresses and their keys. */

const VIEWS = ["overview", "articles", "article", "how"];

const documentTitle = document.title;

const show = (view, isFirst) => {
  for (const name of VIEWS) {
    byId(`view-${name}`).hidden = name !== view;
    const link = byId(`to-${name}`);
    if (link && name === view) link.setAttribute("aria-current", "page");
    else if (link) link.removeAttribute("aria-current");
  }
  document.title = view === "overview" ? documentTitle
    : `${byId(`${view}-heading`).textContent} – ${documentTitle}`;
  if (isFirst && view !== "article") return;
  byId(`${view}-heading`).focus({ preventScroll: true });
  window.scrollTo(0, 0);
};

let last = null; /* the article shown last */

const route = (isFirst) => {
  if (window.location.hash === "#main") return; /* the link that skips the header */
  const address = parseAddress(window.location.hash);
  const isFromArticle = !byId("view-article").hidden;
  for (const open of document.querySelectorAll(":popover-open")) open.hidePopover();
  if (address.list) showList(address.list);
  if (address.view === "article") {
    last = address.index;
    showArticle(last);
  }
  show(address.view, isFirst);
  if (address.view === "articles" && isFromArticle) showPageOf(last)?.focus();
};

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  /* Escape closes an explanation first. */
  if (document.querySelector(":popover-open")) return;
  if (!byId("view-article").hidden) {
    if (event.key === "Escape") byId("to-list").click();
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
