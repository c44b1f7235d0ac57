"""The C extensions: warnings, sanitizers, failing allocations, interpreters, shared constants."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest

from selection.stream import boundaries
from selection.text import fold_table, overlap, shingles, vocabulary
from tests.support import browser
from tests.support.native_build import (
    FAILING_ALLOCATIONS,
    MISSING,
    ROOT,
    SANITIZERS,
    SOURCES,
    WARNINGS,
    build,
    compiler,
    run_checks,
    sanitizer,
)

# The builds are made once.
pytestmark = pytest.mark.xdist_group("native build")

# A missing compiler is a failure in continuous integration.
needs_compiler = pytest.mark.skipif(compiler() is None and not browser.is_ci(), reason=MISSING)
needs_extensions = pytest.mark.skipif(
    not all(map(find_spec, SOURCES)) and not browser.is_ci(), reason="the extensions are not built"
)
CHECKS = ["corpus", "allocations", "pages", "import", "memory", "subinterpreters"]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All extensions, compiled with all warnings as errors."""
    folder = tmp_path_factory.mktemp("builds")
    for source in (*SOURCES.values(), FAILING_ALLOCATIONS):
        build(source, folder, "-O2", *WARNINGS)
    return folder


@pytest.fixture(scope="module")
def sanitized_builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All extensions with AddressSanitizer and UndefinedBehaviorSanitizer."""
    folder = tmp_path_factory.mktemp("sanitized")
    for source in (*SOURCES.values(), FAILING_ALLOCATIONS):
        build(source, folder, "-O1", "-g", *SANITIZERS)
    return folder


@needs_compiler
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_extension_compiles_without_a_warning(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path, "-O2", *WARNINGS)


@needs_compiler
def test_a_warning_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "narrow.c"
    source.write_text("unsigned char narrow(long value);\n")
    build(source, tmp_path, *WARNINGS)
    source.write_text("int narrow(long value);\nint narrow(long value) { return value; }\n")
    with pytest.raises(AssertionError, match="conversion"):
        build(source, tmp_path, *WARNINGS)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_the_extensions_pass_a_check(check: str, builds: Path) -> None:
    done = run_checks(check, builds)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{check}\n"


@needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(
    sanitizer() is None and not browser.is_ci(), reason="no libasan of GCC on Linux to preload"
)
@pytest.mark.parametrize("check", CHECKS)
def test_the_sanitizers_report_nothing(check: str, sanitized_builds: Path) -> None:
    library = sanitizer()
    assert library is not None, "no libasan: install gcc"
    done = run_checks(check, sanitized_builds, preload=library)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{check}\n"


@needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(
    sanitizer() is None and not browser.is_ci(), reason="no libasan of GCC on Linux to preload"
)
@pytest.mark.parametrize(
    ("statement", "report"),
    [
        ("char *p = PyMem_RawMalloc(8); p[8] = 1; PyMem_RawFree(p);", "heap-buffer-overflow"),
        ("volatile int i = 2147483647; i += 1;", "signed integer overflow"),
    ],
)
def test_a_fault_in_an_extension_is_reported(
    statement: str, report: str, sanitized_builds: Path, tmp_path: Path
) -> None:
    for built in sanitized_builds.iterdir():
        (tmp_path / built.name).symlink_to(built)
    source = tmp_path / "_boundaries.c"
    text = SOURCES["selection.stream._boundaries"].read_text()
    head = "execute(PyObject *module)\n{\n"
    assert text.count(head) == 1
    source.write_text(text.replace(head, head + f"    {{ {statement} }}\n"))
    (tmp_path / "_boundaries.so").unlink()
    build(source, tmp_path, "-O0", "-g", *SANITIZERS)
    done = run_checks("corpus", tmp_path, preload=sanitizer())
    assert done.returncode != 0
    assert report in done.stderr


# ---------------------------------------------------------------------------- constants

#: Constants of C, by the Python module that has the same; a private one begins with "_" there.
SHARED = {
    "_native.c": {
        shingles: ["SHINGLE_TOKENS"],
        vocabulary: ["ID_BYTES"],
        fold_table: ["PAGE_SIZE", "IN_ITS_WORD", "SEPARATOR", "SPACE"],
    },
    "_boundaries.c": {
        boundaries: [
            *("LIST_OPENED", "LIST_CLOSED", "ITEM_OPENED", "ITEM_CLOSED", "KIND_BITS"),
            *("OUTSIDE", "INSIDE", "ESCAPED", "IN_ROOT", "IN_LIST"),
        ]
    },
}


@needs_extensions
def test_the_shared_constants_are_equal() -> None:
    compiled = {source.name: import_module(name) for name, source in SOURCES.items()}
    for source, modules in SHARED.items():
        for module, names in modules.items():
            for name in names:
                own = vars(module)[name if name in vars(module) else f"_{name}"]
                assert vars(compiled[source])[name] == own, name
    native = cast(Any, compiled["_native.c"])
    counts = overlap.Counts(*native.measure("", "", "", bytes(native.KEY_BYTES)))
    assert len(counts.tokens) == native.TEXTS == 3
    assert len(counts.regions) == native.REGIONS == 8
    assert len(fold_table.fold_page(0)) == native.PAGE_SIZE * native.ID_BYTES == 1024
    assert native.KEY_BYTES == (2 + 64) * 8


@needs_extensions
def test_the_names_of_the_extensions_are_those_of_their_stubs() -> None:
    for name, source in SOURCES.items():
        module = import_module(name)
        stub = ast.parse(source.with_suffix(".pyi").read_text())
        declared = {
            ast.unparse(node.target) for node in stub.body if isinstance(node, ast.AnnAssign)
        }
        declared |= {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
        assert declared == {key for key in vars(module) if not key.startswith("__")}


def test_a_shared_constant_has_one_definition_in_c_and_one_in_python() -> None:
    defined = list(_definitions())
    for modules in SHARED.values():
        for names in modules.values():
            for name in names:
                files = [file.suffix for file, found in defined if found.lstrip("_") == name]
                assert sorted(files) == [".c", ".py"], name


def _definitions() -> list[tuple[Path, str]]:
    """Return the names that modules assign, and those of enumerations and macros of C."""
    found = []
    for file in (ROOT / "selection").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.append((file, node.id))
    for file in SOURCES.values():
        names = re.findall(r"(?:#define |\b)([A-Z][A-Z_]+)(?: \d| = )", file.read_text())
        found += [(file, name) for name in names]
    return found


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_no_constant_is_written_as_a_number_where_it_is_used(source: Path) -> None:
    code = re.sub(r'/\*.*?\*/|"[^"]*"|enum \{.*?\};', "", source.read_text(), flags=re.DOTALL)
    # Initial capacity and the size of a block that is compared at once, which C alone has.
    local = {"_native.c": {"256"}, "_boundaries.c": set[str]()}[source.name]
    numbers = set(re.findall(r"(?<![\w.])(?:\d+)(?![\w.])", code)) - local
    # 32, 29 and 64: bits of a hash.
    assert numbers <= {"-1", "0", "1", "2", "3", "4", "5", "6", "7", "29", "32", "64"}
