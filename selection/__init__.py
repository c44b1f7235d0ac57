"""Pick, for every article of a batch, the best of three extractors' texts.

>>> from selection import select_file
>>> select_file("river_plate_extracted.json").output  # doctest: +SKIP
'river_plate_extracted_selected.json'
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing, whose import takes some milliseconds
if TYPE_CHECKING:
    from selection.articles import SelectedArticle, iter_articles
    from selection.batch import Summary, select_batch, select_file
    from selection.errors import SelectionError
    from selection.model import Candidate, Decision, Extractor, Rule, State
    from selection.reader import Progress, ReadOptions
    from selection.rules import select_article

    __version__: str

__all__ = [
    "Candidate",
    "Decision",
    "Extractor",
    "Progress",
    "ReadOptions",
    "Rule",
    "SelectedArticle",
    "SelectionError",
    "State",
    "Summary",
    "__version__",
    "iter_articles",
    "select_article",
    "select_batch",
    "select_file",
]

if not TYPE_CHECKING:
    # Imported when first used (PEP 562): a command installs its signal handlers before.
    _MODULES = {
        **dict.fromkeys(("SelectedArticle", "iter_articles"), "articles"),
        **dict.fromkeys(("Summary", "select_batch", "select_file"), "batch"),
        "SelectionError": "errors",
        **dict.fromkeys(("Candidate", "Decision", "Extractor", "Rule", "State"), "model"),
        **dict.fromkeys(("Progress", "ReadOptions"), "reader"),
        "select_article": "rules",
    }

    def __getattr__(name):
        if name == "__version__":
            from importlib.metadata import version

            return version("deterministic-content-selection")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

    def __dir__():
        return sorted({*globals(), *__all__})
