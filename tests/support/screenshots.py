"""The pictures of the report in docs/, taken of the sample batch.

``python -m tests.support.screenshots`` replaces them.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from selection.report.write import write_report
from tests.support.browser import DESKTOP, PHONE, Scheme, launched, opened

_ROOT = Path(__file__).parents[2]
_BATCH = _ROOT / "examples" / "river_plate_extracted.json"


@dataclass(frozen=True, slots=True)
class Picture:
    """Represent one picture: a view of the page in a window."""

    name: str
    address: str
    size: tuple[int, int] = DESKTOP
    scheme: Scheme = "light"


PICTURES = (
    Picture("overview", "#overview"),
    Picture("list", "#articles"),
    Picture("article", "#article-3"),
    Picture("article-phone", "#article-3", PHONE, "dark"),
)


def take(folder: Path) -> list[Path]:
    """Take all pictures and return their paths."""
    taken = []
    with tempfile.TemporaryDirectory() as temporary, launched() as browser:
        report = Path(write_report(str(_BATCH), str(Path(temporary) / "report.html")).output)
        for picture in PICTURES:
            path = folder / f"{picture.name}.png"
            with opened(browser, report, picture.address, picture.scheme, picture.size) as page:
                page.screenshot(path=path, animations="disabled")
            taken.append(path)
    return taken


if __name__ == "__main__":
    for path in take(_ROOT / "docs"):
        print(path.relative_to(_ROOT))
