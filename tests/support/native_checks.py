"""Checks of the C extensions, for a process of their own: ``native_checks.py CHECK FOLDER``.

A check prints its name at its end. It loads the builds in FOLDER instead of the installed ones.
"""

# ruff: noqa: RUF001 (characters that look like others are intended)

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from tests.support.native_build import SOURCES

_MARKS = "\u0301\u0327\u05b8\u0344\uff9e\u3099\u0f73\U0001d165"
_PIECES = [
    *("o gol de placa do River ", "a b c d e f g ", " ", "\n", "\t\x1c\x85\u2028\u3000", "_", "-"),
    *("&amp;", "&#55296;", "&#" + "9" * 40 + ";", "&lt;b&gt;", "<p>", "<", ">", "![a](b)"),
    *("[a](b)", "![", "[", "](", "!", "&", "ΟΔΟΣ ", "Σ", "σ", "ß", "ﬁ", "½ ", "İ", "é", "e\u0301"),
    *("\ud800", "\udfff", "\ud83d\ude00", "\U0001d41a", "🙂", "\x00", "\uffff", "\U0010ffff"),
    *("한국어 ", "\u1112\u1161\u11ab", "東京都", "がｶﾞ", "नमस्ते ", "ক\u09be", "عربي ", "ﷺ"),
    *("x" * 63, "x" * 64, "x" * 65, "x" * 200, "w1 w2 w3 w4 w5 w6 " * 60),
]


def _texts(random: Random) -> tuple[str, str, str]:
    """Three random texts with common parts."""
    common = "".join(random.choices(_PIECES, k=random.randrange(12)))

    def text() -> str:
        own = "".join(random.choices(_PIECES, k=random.randrange(12)))
        many = "".join(f"t{random.randrange(999)} " for _ in range(random.choice([0, 0, 0, 900])))
        parts = [common, own, many, common]
        random.shuffle(parts)
        return "".join(parts)

    one, two = text(), text()
    return one, two, random.choice([one, two, "", text()])


def _combining(random: Random) -> tuple[str, str, str]:
    run = "".join(random.choices(_MARKS, k=random.choice([40, 5000, 20_000])))
    return f"a{run}b c d e f", f"a{run}", f"{run} x"


def check_corpus() -> None:
    """Compare both extensions with Python on random texts and documents."""
    from selection.stream import _boundaries
    from selection.stream.boundaries import find_in_python
    from selection.text import _native, shingles
    from selection.text.markup import visible_text
    from selection.text.overlap import Counts

    random = Random(12)
    for number in range(600):
        texts = _combining(random) if number % 60 == 0 else _texts(random)
        one, two, three = map(visible_text, texts)
        keys = random.choice([random.randbytes(_native.KEY_BYTES), bytes(_native.KEY_BYTES)])
        right = shingles.measure(one, two, three)
        assert Counts(*_native.measure(one, two, three, keys)) == right, (number, texts)
        for text in texts:
            expected = any(character in text for character in "<&[")
            assert _native.has_markup(text) is expected, text

    for number in range(60):
        data = bytes(random.choices(b'"\\{}[]:,a \v\f\x00u\xff', k=random.randrange(70)))
        for stop in range(len(data) + 1):
            for start, depth, string in [(0, 0, 0), (stop // 2, 2, 1), (stop, -3, 2)]:
                arguments = (data, start, stop, depth, string)
                assert _boundaries.find(*arguments) == find_in_python(*arguments), arguments
        # A search in two parts finds the same as one.
        whole = _boundaries.find(data, 0, len(data), 0, 0)
        for split in range(len(data) + 1):
            first, depth, string = _boundaries.find(data, 0, split, 0, 0)
            rest, depth, string = _boundaries.find(data, split, len(data), depth, string)
            assert (first + rest, depth, string) == whole, (number, split)
        plain = not (b"\\u" in data or b"\v" in data or b"\f" in data)
        assert _boundaries.is_plain(data) is plain, data
    largest = sys.maxsize
    for depth in (largest, -largest - 1):
        try:
            _boundaries.find(b"{}", 0, 2, depth, 0)
        except ValueError:
            continue
        raise AssertionError(f"depth {depth} is not refused")


def check_allocations() -> None:
    """Let every allocation of a call fail: first one by one, then all from one on."""
    from selection.stream import _boundaries
    from selection.text import _native

    failing: Any = __import__("failing_allocations")
    words = " ".join(f"w{number}" for number in range(1500))
    keys = Random(1).randbytes(_native.KEY_BYTES)
    pieces = f"a b c d e ½ e\u0301 {'é½' * 30} ΟΔΟΣ"
    document = b'{"a":[' + b'{"b":[1]},' * 30 + b"]}"
    calls: list[tuple[Callable[..., object], tuple[object, ...]]] = [
        (_native.measure, (words, f"{pieces} {words}", "a b", keys)),
        (_native.measure, ("a", pieces, "\U0001d41a", keys)),
        (_native.has_markup, (words,)),
        (_boundaries.find, (document, 0, len(document), 0, 0)),
        (_boundaries.is_plain, (document,)),
    ]
    refused = 0
    for function, arguments in calls:
        right = function(*arguments)
        # Twice: the first call fills caches of the interpreter and of selection.text.
        for _ in range(2):
            result, allocations, _ = failing.call(function, arguments, 0, 0)
            assert result == right
        for count in (1, sys.maxsize):
            for first in range(allocations):
                result, _, left = failing.call(function, arguments, first, count)
                assert result is None or result == right, (function, first, count, result)
                assert left == 0, (function, first, count, left)
                refused += result is None
            # Afterwards the call works as before; a cache that was lost is filled again.
            result, _, left = failing.call(function, arguments, 0, 0)
            assert (result, left) == (right, 0), (function, count)
    # Two calls of measure and one of find allocate, each in many places.
    assert refused > 100, refused


def check_pages() -> None:
    """Let allocations fail while a new module loads a page of its folding table."""
    failing: Any = __import__("failing_allocations")
    name = "selection.text._native"
    path = Path(str(sys.modules[name].__file__))
    arguments = ("a b c d e f", "a b c d e", "x", bytes(sys.modules[name].KEY_BYTES))
    right = sys.modules[name].measure(*arguments)

    def measured(first: int, count: int) -> tuple[bool, int]:
        module = _load(name, path)
        result, allocations, _ = failing.call(module.measure, arguments, first, count)
        assert result is None or result == right, first
        assert module.measure(*arguments) == right, first
        return result is None, allocations

    _, allocations = measured(0, 0)
    gc.collect()
    # Most are those of fold_page, which is Python; all of the extension's are at both ends.
    numbers = {*range(20), *range(20, allocations, 13), *range(allocations - 40, allocations)}
    refused = 0
    for number in sorted(numbers):
        # The table of a module is freed with the module.
        (failed, _), _, left = failing.call(_collected, (measured, number, 1), 0, 0)
        assert left == 0, (number, left)
        refused += failed
    assert refused > 40, refused


def _collected(function: Callable[..., object], *arguments: object) -> object:
    result = function(*arguments)
    gc.collect()
    return result


def check_import() -> None:
    """Let every allocation of the execution of the modules fail."""
    failing: Any = __import__("failing_allocations")

    def execute(name: str, first: int, count: int) -> tuple[bool, int]:
        loaded = sys.modules[name]
        loader, spec = _spec(name, Path(str(loaded.__file__)))
        module = module_from_spec(spec)
        result, allocations, _ = failing.call(_executed, (loader, module), first, count)
        # An import that succeeds is complete.
        assert result is None or vars(module).keys() >= vars(loaded).keys(), (name, first)
        return result is not None, allocations

    for name in SOURCES:
        succeeded, allocations = execute(name, 0, 0)
        assert succeeded
        for count in (1, sys.maxsize):
            results = [execute(name, first, count)[0] for first in range(allocations)]
            assert not all(results)
        assert execute(name, 0, 0)[0]


def _executed(loader: ExtensionFileLoader, module: ModuleType) -> bool:
    loader.exec_module(module)
    return True


def check_memory() -> None:
    """Call every function 10,000 times, with results and with errors: memory does not grow."""
    failing: Any = __import__("failing_allocations")
    import tracemalloc

    from selection.stream import _boundaries
    from selection.text import _native

    keys = bytes(_native.KEY_BYTES)
    measure: Any = _native.measure

    def some() -> None:
        for _ in range(1000):
            measure("a b c d e f", "a b c ½ e\u0301", "x", keys)
            _native.has_markup("a <")
            _boundaries.find(b'{"a":[{},"', 0, 10, 0, 0)
            _boundaries.is_plain(b"\\u0041")
            for wrong in (("a", "b", "c", b""), ("a", "b", 3, keys), ()):
                with suppress(TypeError, ValueError):
                    measure(*wrong)
            with suppress(ValueError):
                _boundaries.find(b"", 0, 1, 0, 0)

    def all_calls() -> None:
        for _ in range(10):
            some()

    some()
    tracemalloc.start()
    some()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    _, _, left = failing.call(all_calls, (), 0, 0)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    # One object that is lost in each call takes at least 16 bytes.
    assert after - before < 10_000 * 16 / 4, after - before
    assert left < 100, left


_IN_SUBINTERPRETER = """
import sys
from pathlib import Path
from tests.support import native_checks
native_checks.use_builds(Path({folder!r}))
from selection.stream import _boundaries
from selection.text import _native
assert _native.measure("a b", "a b", "c", bytes(_native.KEY_BYTES)) == (
    (2, 2, 1), (0, 0, 0, 1, 1, 0, 0, 0)
)
assert _native.has_markup("<") is True
assert _boundaries.find(b'{{"a":[', 0, 6, 0, 0) == ([20], 2, 0)
assert _boundaries.is_plain(b"a") is True
"""


def check_subinterpreters() -> None:
    """Use the extensions in two isolated interpreters, from 3.12 on with a GIL of their own."""
    interpreters: Any = __import__(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
    code = _IN_SUBINTERPRETER.format(folder=sys.argv[2])
    for _ in range(2):
        interpreter = interpreters.create()
        # Until 3.12 a failure is an exception, since 3.13 it is the result.
        failure = interpreters.run_string(interpreter, code)
        assert failure is None, failure
        interpreters.destroy(interpreter)
    # The modules of the main interpreter still work.
    exec(code, {})


def _spec(name: str, path: Path) -> tuple[ExtensionFileLoader, ModuleSpec]:
    loader = ExtensionFileLoader(name, str(path))
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    return loader, spec


def _load(name: str, path: Path) -> ModuleType:
    """Load an extension module from a file."""
    loader, spec = _spec(name, path)
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def use_failing_allocations(folder: Path) -> None:
    """Load the allocator that fails on demand; a subinterpreter cannot, and does without."""
    library = folder / "failing_allocations.so"
    if library.exists():
        sys.modules[library.stem] = _load(library.stem, library)


def use_builds(folder: Path) -> None:
    """Make the builds of a folder the modules that the package imports."""
    for name in SOURCES:
        parent, _, last = name.rpartition(".")
        __import__(parent)
        sys.modules[name] = _load(name, folder / f"{last}.so")
        setattr(sys.modules[parent], last, sys.modules[name])


if __name__ == "__main__":
    use_failing_allocations(Path(sys.argv[2]))
    use_builds(Path(sys.argv[2]))
    globals()[f"check_{sys.argv[1]}"]()
    print(sys.argv[1])
