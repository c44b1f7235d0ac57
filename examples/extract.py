"""Extract the sample pages with the three real extractors into one JSON batch.

Run as ``python examples/extract.py``. Every ``pages/NN-slug.html``, in name order, becomes one
article of ``river_plate_extracted.json``. The extractors get the text of the file and fetch
nothing.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import newspaper
import trafilatura
from lxml import html as lxml_html
from readability import Document

Fields = dict[str, Any]
Extractor = Callable[[str, str], Fields]

HERE = Path(__file__).resolve().parent
SOURCE = "river_plate"
GENERATED_AT = "2026-12-01"
BASE_URL = "https://example.org/"

TRAFILATURA_FIELDS = (
    "title",
    "author",
    "date",
    "description",
    "sitename",
    "categories",
    "tags",
    "language",
    "text",
)
NEWSPAPER_FIELDS = (
    "title",
    "authors",
    "publish_date",
    "top_image",
    "meta_keywords",
    "meta_description",
    "text",
)
READABILITY_FIELDS = ("title", "short_title", "content_html", "cleaned_text")

HIDDEN_TAGS = frozenset({"script", "style", "noscript", "template"})
CELL_TAGS = frozenset({"td", "th"})
BLOCK_TAG_NAMES = """
address article aside blockquote body br caption dd div dl dt figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section table tbody tfoot thead tr ul
"""
BLOCK_TAGS = frozenset(BLOCK_TAG_NAMES.split())


def collapse_spaces(text: str | None) -> str:
    """Return the text with each run of whitespace as one space; None gives ""."""
    return re.sub(r"\s+", " ", text or "")


def separator_around(tag: str) -> str:
    """Return what separates an element from its neighbours: a newline, a space or nothing."""
    if tag in BLOCK_TAGS:
        return "\n"
    return " " if tag in CELL_TAGS else ""


def text_pieces(element: Any) -> Iterator[str]:
    """Yield an lxml element's visible text in document order, without the element's tail."""
    # Comments and processing instructions have a function as their tag.
    if not isinstance(element.tag, str) or element.tag in HIDDEN_TAGS:
        return
    separator = separator_around(element.tag)
    yield separator
    yield collapse_spaces(element.text)
    for child in element:
        yield from text_pieces(child)
        yield collapse_spaces(child.tail)
    yield separator


def visible_text(content_html: str) -> str:
    """Return the visible text of an HTML fragment, one block element per line."""
    if not content_html.strip():
        return ""
    text = "".join(text_pieces(lxml_html.fromstring(content_html)))
    lines = (collapse_spaces(line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def extract_trafilatura(html: str, url: str) -> Fields:
    """Return the TRAFILATURA_FIELDS of the page; empty if it has no content."""
    found = trafilatura.bare_extraction(html, url=url, with_metadata=True)
    if found is None:
        return {}
    return {name: getattr(found, name) for name in TRAFILATURA_FIELDS}


def extract_newspaper4k(html: str, url: str) -> Fields:
    """Return the NEWSPAPER_FIELDS of the page, the date as text."""
    # With fetch_images, Newspaper4k would download the pictures to measure them.
    article = newspaper.Article(url, fetch_images=False)
    article.download(input_html=html)
    article.parse()
    fields = {name: getattr(article, name) for name in NEWSPAPER_FIELDS}
    fields["publish_date"] = str(article.publish_date) if article.publish_date else None
    return fields


def extract_readability(html: str, url: str) -> Fields:
    """Return the READABILITY_FIELDS of the page, the cleaned text taken from the content."""
    document = Document(html, url=url)
    content_html = document.summary(html_partial=True)
    return {
        "title": document.title(),
        "short_title": document.short_title(),
        "content_html": content_html,
        "cleaned_text": visible_text(content_html),
    }


EXTRACTORS: dict[str, tuple[Extractor, tuple[str, ...]]] = {
    "trafilatura": (extract_trafilatura, TRAFILATURA_FIELDS),
    "newspaper4k": (extract_newspaper4k, NEWSPAPER_FIELDS),
    "readability": (extract_readability, READABILITY_FIELDS),
}


def run_extractor(name: str, html: str, url: str) -> Fields:
    """Return the extractor's block: all its fields, and the error as "ExceptionType: message"."""
    extract, names = EXTRACTORS[name]
    fields: Fields = {}
    error: str | None = None
    try:
        fields = extract(html, url)
    except Exception as exception:  # An extractor can raise anything; the error is recorded.
        error = f"{type(exception).__name__}: {exception}"
    return {**{field: fields.get(field) for field in names}, "error": error}


def build_article(page: Path) -> Fields:
    """Return a page's article: id, url, status_code, html_length and the three blocks."""
    html = page.read_text(encoding="utf-8")
    slug = re.sub(r"^\d+-", "", page.stem)
    url = BASE_URL + slug
    blocks = {name: run_extractor(name, html, url) for name in EXTRACTORS}
    return {"id": slug, "url": url, "status_code": 200, "html_length": len(html), **blocks}


def build_batch(pages: list[Path], generated_at: str) -> Fields:
    """Return the batch: source, generated_at, total and one article per page, in order."""
    articles = [build_article(page) for page in pages]
    return {
        "source": SOURCE,
        "generated_at": generated_at,
        "total": len(articles),
        "articles": articles,
    }


def parse_arguments() -> argparse.Namespace:
    """Return the options: pages and output as paths, generated_at as text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, default=HERE / "pages")
    parser.add_argument("--output", type=Path, default=HERE / "river_plate_extracted.json")
    parser.add_argument("--generated-at", default=GENERATED_AT)
    return parser.parse_args()


def main() -> None:
    """Write the batch of the sample pages."""
    options = parse_arguments()
    batch = build_batch(sorted(options.pages.glob("*.html")), options.generated_at)
    text = json.dumps(batch, ensure_ascii=False, indent=2) + "\n"
    options.output.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
