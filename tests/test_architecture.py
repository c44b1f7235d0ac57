"""Imports go downwards only, and no module imports itself in a circle."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from importlinter import api

ROOT = Path(__file__).parents[1]


def test_the_contracts_of_the_imports_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    contracts = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    assert {contract["type"] for contract in contracts} == {"layers", "forbidden"}
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml")) == 0


@pytest.mark.parametrize("package", ["selection", "worker"])
def test_no_module_imports_itself_in_a_circle(package: str) -> None:
    graph = grimp.build_graph(package)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # The package names what it exports and imports it when it is used.
    imports.pop(package)
    order = list(TopologicalSorter(imports).static_order())  # raises CycleError
    assert set(imports) <= set(order)
