"""``python -m robustness.oldest``: constraints for pip, the oldest version of all that is needed.

Of every dependency in pyproject.toml, the extras that the tests need included, the version
that its lower bound names.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_EXTRAS = ("dev", "embedded", "monitoring")
_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*[>=]=\s*([0-9][^,;\s]*)")


def constraints(text: str) -> list[str]:
    """One line a dependency that has a lower bound."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(one for name in _EXTRAS for one in extras[name])]
    bounds = [_BOUND.match(requirement) for requirement in needed]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def main() -> None:
    print("\n".join(constraints(PROJECT.read_text())))


if __name__ == "__main__":
    main()
