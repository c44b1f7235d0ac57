"""Pick, for every article of a batch, the best of three extractors' texts.

>>> from selection import select_file
>>> select_file("river_plate_extracted.json").output  # doctest: +SKIP
'river_plate_extracted_selected.json'
"""

from selection.batch import Progress, Summary, select_file
from selection.errors import SelectionError
from selection.rules import Candidate, Decision, Extractor, Rule, State, select_article

__all__ = [
    "Candidate",
    "Decision",
    "Extractor",
    "Progress",
    "Rule",
    "SelectionError",
    "State",
    "Summary",
    "select_article",
    "select_file",
]
