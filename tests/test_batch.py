"""A whole batch on disk: the right output, or none and not a trace of it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import stat
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from selection import Extractor, Progress, Rule, SelectionError, Summary, select_file
from selection.batch import check_files
from selection.errors import (
    ArticlesMissingError,
    ArticlesNotListError,
    InputChangedError,
    InputDeniedError,
    InputError,
    InputForbiddenError,
    InputMissingError,
    InputNameError,
    InputNotFileError,
    InvalidJsonError,
    OutputError,
    OutputFolderMissingError,
    OutputForbiddenError,
    OutputIsInputError,
    OutputNameError,
    RootNotObjectError,
    WriteError,
)
from selection.storage.names import default_output
from tests.support import batches
from tests.support.process import SECONDS, line_with

EXTRACTORS = {"newspaper4k", "readability", "trafilatura"}
SAMPLE = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"

# Two articles: readability is picked for the first, the fallback for the second.
BATCH = b'{"articles": [{"readability": {"cleaned_text": "a b"}}, {"id": 2}]}'
PICKED = (
    b'{"articles": [{"readability": {"cleaned_text": "a b"}, "selected_extractor": "readability"},'
    b' {"id": 2, "selected_extractor": "newspaper4k"}]}'
)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def picks_of(path: Path) -> list[str]:
    return [article["selected_extractor"] for article in load(path)["articles"]]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "batch.json"
    path.write_bytes(BATCH)
    return path


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the sample of 20 articles and its output."""
    folder = tmp_path_factory.mktemp("sample")
    path = folder / SAMPLE.name
    path.write_bytes(SAMPLE.read_bytes())
    select_file(path)
    return path, folder / "river_plate_extracted_selected.json"


def refused(kind: type[SelectionError], input: Path, output: Path | None = None) -> SelectionError:
    """Run and return the error."""
    with pytest.raises(SelectionError) as caught:
        select_file(input, output)
    assert type(caught.value) is kind
    return caught.value


# ------------------------------------------------------------------ mandatory cases


def test_ct_012_an_existing_pick_is_recalculated_and_only_that_key_changes(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(
        b'{"articles": [{"selected_extractor": "trafilatura", "newspaper4k": {"text": "a"}},\n'
        b' {"id": 2, "selected_extractor": null, "trafilatura": {"text": "a", "n": 1.10}}]}\n'
    )
    select_file(path)
    assert (tmp_path / "batch_selected.json").read_bytes() == (
        b'{"articles": [{"selected_extractor": "newspaper4k", "newspaper4k": {"text": "a"}},\n'
        b' {"id": 2, "selected_extractor": "trafilatura", "trafilatura": {"text": "a", "n": 1.10}}'
        b"]}\n"
    )


def test_ct_013_empty_articles_give_a_valid_output_with_empty_articles(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(b'{"source": "x", "articles": []}')
    summary = select_file(path)
    assert (tmp_path / "batch_selected.json").read_bytes() == b'{"source": "x", "articles": []}'
    assert (summary.articles, summary.skipped) == (0, 0)


def test_ct_014_invalid_json_gives_no_output(tmp_path: Path) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(b'{"articles": [{"id": 1},]}')
    refused(InvalidJsonError, path)
    assert names(tmp_path) == {"batch.json"}


# ------------------------------------------------------------ copying of a batch


def test_us3_1_all_articles_in_order_with_all_fields_and_the_pick(tmp_path: Path) -> None:
    makers = [batches.picks_newspaper4k, batches.picks_readability, batches.picks_trafilatura]
    articles = [makers[n % 3](id=n, extra={"n": [n, None]}) for n in range(50)]
    batches.write(tmp_path / "batch.json", articles, source="x")
    select_file(tmp_path / "batch.json")
    # In the order of the makers above, over and over.
    expected = ["newspaper4k", "readability", "trafilatura"] * 17
    assert load(tmp_path / "batch_selected.json") == {
        "source": "x",
        "articles": [
            {**article, "selected_extractor": pick} for article, pick in zip(articles, expected)
        ],
    }


def test_us3_2_an_existing_pick_is_updated(tmp_path: Path) -> None:
    articles = [
        batches.picks_newspaper4k(selected_extractor="trafilatura"),
        batches.picks_readability(selected_extractor="readability"),
        batches.picks_trafilatura(selected_extractor={"was": ["ambiguous"]}),
    ]
    batches.write(tmp_path / "batch.json", articles)
    select_file(tmp_path / "batch.json")
    assert picks_of(tmp_path / "batch_selected.json") == [
        "newspaper4k",
        "readability",
        "trafilatura",
    ]


@pytest.mark.parametrize("data", [b"{", b'{"articles": {}}', b'{"articles": [{}], "articles": 1}'])
def test_us3_3_an_invalid_file_ends_with_an_error_and_no_output(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(data)
    with pytest.raises(SelectionError):
        select_file(path)
    assert names(tmp_path) == {"batch.json"}


# ------------------------------------------------------ invalid batches, rules 8.3 to 8.5


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(b'{"articles": [}', InvalidJsonError, id="JSON invalid"),
        pytest.param(b'[{"articles": []}]', RootNotObjectError, id="root is no object"),
        pytest.param(b'{"artigos": []}', ArticlesMissingError, id="articles missing"),
        pytest.param(b'{"articles": null}', ArticlesNotListError, id="articles is no list"),
    ],
)
def test_an_invalid_batch_ends_without_an_output(
    tmp_path: Path, data: bytes, kind: type[SelectionError]
) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(data)
    assert refused(kind, path).exit_code == 65
    assert names(tmp_path) == {"batch.json"}


def test_empty_articles_are_copied_without_another_change(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{ "articles" :\t[ ] ,\r\n"x": 1e400, "x": "\\ud83d" }\n\n'
    (tmp_path / "batch.json").write_bytes(data)
    select_file(tmp_path / "batch.json")
    assert (tmp_path / "batch_selected.json").read_bytes() == data


@pytest.mark.parametrize(
    "newspaper4k",
    [
        pytest.param({}, id="block missing"),
        pytest.param({"newspaper4k": None}, id="block null"),
        pytest.param({"newspaper4k": [{"text": batches.COMMON}]}, id="block is a list"),
        pytest.param({"newspaper4k": {"title": "t"}}, id="text missing"),
        pytest.param({"newspaper4k": {"text": None}}, id="text null"),
        pytest.param({"newspaper4k": {"text": [batches.COMMON]}}, id="text is a list"),
        pytest.param({"newspaper4k": {"text": {"text": batches.COMMON}}}, id="text is an object"),
        pytest.param({"newspaper4k": {"text": 12345}}, id="text is a number"),
        pytest.param({"newspaper4k": {"text": True}}, id="text is a truth value"),
    ],
)
def test_a_candidate_without_a_text_is_unavailable(
    tmp_path: Path, newspaper4k: dict[str, Any]
) -> None:
    # The other two have nothing in common and one shingle each. If newspaper4k had a text,
    # it would win by its priority or as the median.
    others = {"trafilatura": {"text": "a"}, "readability": {"cleaned_text": "b"}}
    batches.write(tmp_path / "batch.json", [{**newspaper4k, **others}])
    assert select_file(tmp_path / "batch.json").rules[Rule.LARGER_PRIORITY] == 1
    assert picks_of(tmp_path / "batch_selected.json") == ["readability"]


def test_newspaper4k_is_picked_where_all_are_unavailable(tmp_path: Path) -> None:
    unavailable = [{}, batches.article("", " ", "\n"), {"trafilatura": {"text": "?!"}}]
    batches.write(tmp_path / "batch.json", unavailable)
    assert select_file(tmp_path / "batch.json").rules[Rule.FALLBACK] == 3
    assert picks_of(tmp_path / "batch_selected.json") == ["newspaper4k"] * 3


def test_a_malformed_article_does_not_stop_the_others(tmp_path: Path) -> None:
    wrong: list[Any] = [
        None,
        5,
        "x",
        [],
        [{}],
        {"trafilatura": 7, "newspaper4k": [], "readability": "x"},
    ]
    good = batches.picks_readability()
    path = batches.write(tmp_path / "batch.json", [good, *wrong, good])
    summary = select_file(path)
    assert load(tmp_path / "batch_selected.json")["articles"] == [
        {**good, "selected_extractor": "readability"},
        *wrong[:5],
        {
            "trafilatura": 7,
            "newspaper4k": [],
            "readability": "x",
            "selected_extractor": "newspaper4k",
        },
        {**good, "selected_extractor": "readability"},
    ]
    assert (summary.articles, summary.skipped) == (3, 5)


# ----------------------------------------------------------------- acceptance criteria


def test_ac_01_the_20_articles_of_the_reference_in_the_same_order(
    sample: tuple[Path, Path],
) -> None:
    ids = [article["id"] for article in load(sample[0])["articles"]]
    assert len(set(ids)) == 20
    assert [article["id"] for article in load(sample[1])["articles"]] == ids


def test_ac_02_and_03_one_valid_pick_per_article_never_null_empty_or_ambiguous(
    sample: tuple[Path, Path],
) -> None:
    def members(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return pairs

    root = json.loads(sample[1].read_bytes(), object_pairs_hook=members)
    articles = dict(root)["articles"]
    assert len(articles) == 20
    for article in articles:
        (pick,) = [value for key, value in article if key == "selected_extractor"]
        assert pick in EXTRACTORS


def test_ac_04_and_05_nothing_else_is_changed_or_added(sample: tuple[Path, Path]) -> None:
    before, after = load(sample[0]), load(sample[1])
    for article in after["articles"]:
        del article["selected_extractor"]
    assert after == before
    # More than the criterion asks: every line but the added ones is the input's.
    lines = sample[1].read_bytes().splitlines()
    added = [line for line in lines if b'"selected_extractor"' in line]
    assert len(added) == 20
    assert len(lines) == len(sample[0].read_bytes().splitlines()) + 20


def test_ac_06_the_original_stays_as_it_was(sample: tuple[Path, Path]) -> None:
    assert sample[0].read_bytes() == SAMPLE.read_bytes()


def test_ac_07_two_runs_give_the_same_picks(sample: tuple[Path, Path], tmp_path: Path) -> None:
    # All the bytes are the same, in another process with another hash seed, too.
    again = tmp_path / "again.json"
    script = "import sys, selection; selection.select_file(*sys.argv[1:])"
    subprocess.run(
        [sys.executable, "-c", script, str(sample[0]), str(again)],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        timeout=SECONDS,
    )
    assert again.read_bytes() == sample[1].read_bytes()


def test_ac_08_only_the_three_texts_are_used(tmp_path: Path) -> None:
    plain = [batches.picks_newspaper4k(), batches.picks_readability(), batches.picks_trafilatura()]
    # What would turn each pick, were it looked at: another's text in every other field.
    noisy = json.loads(json.dumps(plain))
    for article in noisy:
        article.update(title=batches.OTHER, text=batches.OTHER, cleaned_text=batches.OTHER)
        for block in ("trafilatura", "newspaper4k"):
            article[block].update(cleaned_text=batches.COMMON, title=batches.COMMON, html="<p>")
        article["readability"].update(text=batches.OTHER, content_html=batches.OTHER, summary="x")
    batches.write(tmp_path / "plain.json", plain)
    batches.write(tmp_path / "noisy.json", noisy)
    select_file(tmp_path / "plain.json")
    select_file(tmp_path / "noisy.json")
    expected = ["newspaper4k", "readability", "trafilatura"]
    assert picks_of(tmp_path / "plain_selected.json") == expected
    assert picks_of(tmp_path / "noisy_selected.json") == expected


def test_ac_09_newspaper4k_where_all_texts_are_empty(tmp_path: Path) -> None:
    batches.write(tmp_path / "batch.json", [batches.article("", "", "")])
    select_file(tmp_path / "batch.json")
    assert picks_of(tmp_path / "batch_selected.json") == ["newspaper4k"]


def words(prefix: str, shingles: int) -> str:
    """Return a text with a number of shingles: four words more, all of them different."""
    return " ".join(f"{prefix}{n}" for n in range(shingles + 4 if shingles else 0))


@pytest.mark.parametrize(
    ("newspaper4k", "readability", "trafilatura", "pick", "rule"),
    [
        (5, 2, 3, "trafilatura", Rule.MEDIAN),
        (2, 3, 5, "readability", Rule.MEDIAN),
        (2, 3, 3, "readability", Rule.MEDIAN_PRIORITY),
        (3, 2, 3, "newspaper4k", Rule.MEDIAN_PRIORITY),
        (0, 2, 3, "trafilatura", Rule.LARGER),
        (2, 0, 3, "trafilatura", Rule.LARGER),
        (0, 3, 3, "readability", Rule.LARGER_PRIORITY),
        (0, 0, 3, "trafilatura", Rule.SINGLE),
        (0, 0, 0, "newspaper4k", Rule.FALLBACK),
    ],
)
def test_ac_10_without_consensus_by_the_rules_of_7_6(
    tmp_path: Path, newspaper4k: int, readability: int, trafilatura: int, pick: str, rule: Rule
) -> None:
    texts = words("n", newspaper4k), words("r", readability), words("t", trafilatura)
    batches.write(tmp_path / "batch.json", [batches.article(*texts)])
    assert select_file(tmp_path / "batch.json").rules[rule] == 1
    assert picks_of(tmp_path / "batch_selected.json") == [pick]


@pytest.mark.parametrize(
    ("newspaper4k", "readability", "trafilatura", "pick", "rule"),
    [
        # All have the same beginning. With the sizes 100 and 101 the consensus is 100 and
        # the scores are 1 and 200/201; with 120 the second is 200/220 = 0.91.
        (101, 0, 100, "trafilatura", Rule.TIE_FEWEST_SHINGLES),
        (0, 100, 101, "readability", Rule.TIE_FEWEST_SHINGLES),
        (120, 0, 100, "trafilatura", Rule.SCORE),
        (0, 100, 100, "readability", Rule.TIE_PRIORITY),
        (100, 100, 100, "newspaper4k", Rule.TIE_PRIORITY),
        # The consensus is 100 (what two have); the fragment's score is 100/150.
        (50, 100, 100, "readability", Rule.TIE_PRIORITY),
    ],
)
def test_ac_11_a_technical_tie_by_the_rules_of_7_5(
    tmp_path: Path, newspaper4k: int, readability: int, trafilatura: int, pick: str, rule: Rule
) -> None:
    texts = words("w", newspaper4k), words("w", readability), words("w", trafilatura)
    batches.write(tmp_path / "batch.json", [batches.article(*texts)])
    assert select_file(tmp_path / "batch.json").rules[rule] == 1
    assert picks_of(tmp_path / "batch_selected.json") == [pick]


@pytest.mark.parametrize("end", [b"", b"]", b"}", b']}"', b"]}]"])
def test_ac_12_an_invalid_batch_leaves_no_partial_file(tmp_path: Path, end: bytes) -> None:
    # Two mebibytes of good articles, so that much has been written when the end is reached.
    article = b'{"newspaper4k": {"text": "' + b"a b c " * 300 + b'"}},'
    path = tmp_path / "batch.json"
    path.write_bytes(b'{"articles": [' + article * 1200 + b"{}" + end)
    refused(InvalidJsonError, path)
    assert names(tmp_path) == {"batch.json"}


# --------------------------------------------------------------------------- the names


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("river_plate_extracted(2).json", "river_plate_extracted(2)_selected.json"),
        ("a.b.json", "a.b_selected.json"),
        ("no extension", "no extension_selected.json"),
        ("x.JSON", "x_selected.json"),
        ("x.txt", "x_selected.json"),
        ("b_selected.json", "b_selected_selected.json"),
        (".json", ".json_selected.json"),
        ("título 😀\n%s.json", "título 😀\n%s_selected.json"),
        ("-r.json", "-r_selected.json"),
    ],
)
def test_the_default_output(tmp_path: Path, name: str, output: str) -> None:
    (tmp_path / name).write_bytes(BATCH)
    assert select_file(tmp_path / name).output == str(tmp_path / output)
    assert names(tmp_path) == {name, output}
    assert (tmp_path / output).read_bytes() == PICKED
    assert default_output(str(tmp_path / name)) == str(tmp_path / output)


def test_a_folder_with_a_dot_and_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.json").mkdir()
    (tmp_path / "d.json" / "batch").write_bytes(BATCH)
    monkeypatch.chdir(tmp_path)
    assert select_file("d.json/batch").output == "d.json/batch_selected.json"
    assert (tmp_path / "d.json" / "batch_selected.json").read_bytes() == PICKED
    monkeypatch.chdir("d.json")
    assert select_file("batch", "out.json").output == "out.json"
    assert names(Path()) == {"batch", "batch_selected.json", "out.json"}


def test_an_output_elsewhere(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    summary = select_file(str(batch), tmp_path / "out" / "any name")
    assert summary.output == str(tmp_path / "out" / "any name")
    assert names(tmp_path) == {"batch.json", "out"}
    assert names(tmp_path / "out") == {"any name"}
    assert (tmp_path / "out" / "any name").read_bytes() == PICKED


def test_the_longest_names(tmp_path: Path) -> None:
    # 255 bytes are the most; é has two, and "_selected" makes 9 more.
    longest = "x" + "é" * 120 + ".json"
    (tmp_path / longest).write_bytes(BATCH)
    output = Path(select_file(tmp_path / longest).output)
    assert len(output.name.encode()) == 255
    assert names(tmp_path) == {longest, output.name}

    (tmp_path / ("x" * 250)).write_bytes(BATCH)
    assert refused(OutputError, tmp_path / ("x" * 250)).exit_code == 73
    assert refused(InputError, tmp_path / ("x" * 256)).exit_code == 66
    assert names(tmp_path) == {longest, output.name, "x" * 250}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(os.fsdecode(b"caf\xe9.json"), id="Latin-1"),
        pytest.param("\ud800.json", id="a surrogate that stands for no byte"),
        pytest.param("a\0.json", id="NUL"),
    ],
)
def test_names_that_no_summary_can_carry(tmp_path: Path, batch: Path, name: str) -> None:
    with pytest.raises(InputNameError) as caught:
        select_file(f"{tmp_path}/{name}")
    str(caught.value).encode()
    with pytest.raises(OutputNameError):
        select_file(batch, f"{tmp_path}/{name}")
    assert names(tmp_path) == {"batch.json"}


def test_a_name_that_a_process_of_another_encoding_cannot_open(tmp_path: Path) -> None:
    # A worker gets its names from Redis and not from the system, so it can meet such a one.
    path = tmp_path / "não.json"
    path.write_bytes(BATCH)
    script = (
        "import sys\n"
        "from selection import SelectionError, select_file\n"
        "try:\n"
        "    select_file(sys.argv[1].encode('ascii').decode('unicode_escape'))\n"
        "except SelectionError as error:\n"
        "    print(type(error).__name__, error.exit_code, error)\n"
    )
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(path).encode("unicode_escape").decode()],
        env={**os.environ, **ascii_only},
        stdout=subprocess.PIPE,
        timeout=SECONDS,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("InputNameError 66 ")
    assert "n\\xe3o.json' cannot be a file name here, where names are ascii" in done.stdout
    assert "set PYTHONUTF8=1" in done.stdout
    assert names(tmp_path) == {"não.json"}


def test_a_file_that_exists_under_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.json")
    with open(path, "wb") as file:
        file.write(BATCH)
    with pytest.raises(InputNameError, match=r"caf\\xe9"):
        select_file(os.fsdecode(path))
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9.json"]


# ------------------------------------------------------------------ what cannot be read


def test_an_input_that_is_not_there(tmp_path: Path, batch: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    for missing in ("missing.json", "missing/x.json", "batch.json/x", "dangling"):
        error = refused(InputMissingError, tmp_path / missing, tmp_path / "out.json")
        assert (error.exit_code, error.retryable) == (66, True)
        assert error.path == str(tmp_path / missing)
    with pytest.raises(InputMissingError):
        select_file("", tmp_path / "out.json")
    assert names(tmp_path) == {"batch.json", "dangling"}


def test_an_input_must_be_a_regular_file(tmp_path: Path) -> None:
    # The pipe has no writer: opening it must not wait.
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    for path in (tmp_path / "pipe.json", tmp_path / "folder.json", Path("/dev/null")):
        error = refused(InputNotFileError, path, tmp_path / "out.json")
        assert (error.exit_code, error.path) == (66, str(path))
    assert names(tmp_path) == {"pipe.json", "folder.json"}


def test_an_input_that_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert refused(InputError, tmp_path / "a").exit_code == 66
    assert refused(InputError, tmp_path / "a", tmp_path / "out.json").exit_code == 66
    assert names(tmp_path) == {"a", "b"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder that every user can write to; those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.getuid() == 0:
            os.chown(folder, 65534, 65534)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


# Permissions do not bind root, so a child gives that up before it selects.
_AS_NOBODY = """
import json, os, resource, sys
from selection import SelectionError, select_article, select_file
# Another user may not be able to read the modules that the first decision imports.
select_article({})
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    select_file(sys.argv[1], sys.argv[2])
except SelectionError as error:
    print(json.dumps({"code": error.exit_code, "retry": error.retryable, **error.as_dict()}))
else:
    print("{}")
"""


def select_without_privileges(
    input: Path, output: Path, longest_file: int | None = None
) -> dict[str, Any]:
    """Run without privileges and return the error, or ""."""
    limit = [] if longest_file is None else [str(longest_file)]
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(input), str(output), *limit],
        stdout=subprocess.PIPE,
        timeout=SECONDS,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_an_input_without_read_permission_is_an_error(open_folder: Path) -> None:
    path = open_folder / "batch.json"
    path.write_bytes(BATCH)
    path.chmod(0)
    error = select_without_privileges(path, open_folder / "out.json")
    assert (error["type"], error["code"], error["path"]) == (
        InputDeniedError.__name__,
        66,
        str(path),
    )
    assert names(open_folder) == {"batch.json"}


# --------------------------------------------------------------- what cannot be written


def test_a_folder_without_write_permission_is_an_error(open_folder: Path) -> None:
    path = open_folder / "batch.json"
    path.write_bytes(BATCH)
    open_folder.chmod(0o555)
    error = select_without_privileges(path, open_folder / "out.json")
    assert (error["type"], error["code"], error["retry"]) == (OutputError.__name__, 73, False)
    assert error["path"] == str(open_folder / "out.json")
    assert names(open_folder) == {"batch.json"}


def test_an_output_of_another_user_in_an_own_folder_is_replaced(open_folder: Path) -> None:
    # It is the folder that must be writable; the old file itself is not written to.
    (open_folder / "batch.json").write_bytes(BATCH)
    (open_folder / "out.json").write_bytes(b"old")
    (open_folder / "out.json").chmod(0o444)
    assert select_without_privileges(open_folder / "batch.json", open_folder / "out.json") == {}
    assert (open_folder / "out.json").read_bytes() == PICKED


@pytest.mark.parametrize("before", [None, b"old"], ids=["no output yet", "an older output"])
@pytest.mark.parametrize(
    "articles",
    [
        pytest.param(20, id="at the end"),
        pytest.param(20_000, id="half way", marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_leaves_the_output_unchanged(
    open_folder: Path, articles: int, before: bytes | None
) -> None:
    # No file may get longer than 10,000 bytes. The smaller batch is held back in memory and
    # fails when it is complete, the larger one (more than a mebibyte) while it is written.
    path, output = open_folder / "batch.json", open_folder / "out.json"
    article = b'{"newspaper4k": {"text": "a b"}},'
    path.write_bytes(b'{"x": "%s", "articles": [' % (b"x" * 10_000) + article * articles + b"{}]}")
    if before is not None:
        output.write_bytes(before)
    error = select_without_privileges(path, output, longest_file=10_000)
    assert (error["type"], error["code"], error["retry"]) == (WriteError.__name__, 74, True)
    assert error["path"] == str(output)
    if before is None:
        assert names(open_folder) == {"batch.json"}
    else:
        assert names(open_folder) == {"batch.json", "out.json"}
        assert output.read_bytes() == before


def test_an_output_must_be_a_regular_file(batch: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for output in (tmp_path / "pipe", tmp_path / "folder", tmp_path / "null", Path("/dev/full")):
        error = refused(OutputError, batch, output)
        assert (error.exit_code, error.path) == (73, str(output))
    assert names(tmp_path) == {"batch.json", "pipe", "folder", "null"}
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert names(tmp_path / "folder") == set()


def test_an_output_without_a_folder(batch: Path, tmp_path: Path) -> None:
    error = refused(OutputFolderMissingError, batch, tmp_path / "missing" / "out.json")
    assert (error.exit_code, error.retryable) == (73, True)
    assert refused(OutputError, batch, batch / "out.json").exit_code == 73
    (tmp_path / "a").symlink_to("a")
    assert refused(OutputError, batch, tmp_path / "a").exit_code == 73
    assert names(tmp_path) == {"batch.json", "a"}


# ------------------------------------------------------------------ the output as a file


@pytest.mark.parametrize("data", [b"", BATCH[:-1], b"[]", b'{"articles": 1}'])
def test_an_existing_output_is_kept_when_a_run_fails(
    batch: Path, tmp_path: Path, data: bytes
) -> None:
    output = tmp_path / "batch_selected.json"
    output.write_bytes(b"older")
    before = output.stat()
    batch.write_bytes(data)
    with pytest.raises(SelectionError):
        select_file(batch)
    after = output.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert output.read_bytes() == b"older"
    assert names(tmp_path) == {"batch.json", "batch_selected.json"}


def test_an_existing_output_is_there_until_the_new_one_is_complete(
    batch: Path, tmp_path: Path
) -> None:
    output = tmp_path / "batch_selected.json"
    output.write_bytes(b"older")
    seen: list[bytes] = []
    select_file(batch, progress=lambda _: seen.append(output.read_bytes()))
    assert set(seen) == {b"older"}
    assert output.read_bytes() == PICKED


def test_a_reader_of_the_old_output_keeps_what_it_opened(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "batch_selected.json").write_bytes(b"older")
    with open(tmp_path / "batch_selected.json", "rb") as reader:
        select_file(batch)
        assert reader.read() == b"older"


def test_a_linked_output_is_replaced_behind_its_link(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.json").write_bytes(b"older")
    (tmp_path / "out.json").symlink_to("there/real.json")
    (tmp_path / "new.json").symlink_to("there/new.json")
    select_file(batch, tmp_path / "out.json")
    select_file(batch, tmp_path / "new.json")
    assert os.readlink(tmp_path / "out.json") == "there/real.json"
    assert os.readlink(tmp_path / "new.json") == "there/new.json"
    assert names(tmp_path / "there") == {"real.json", "new.json"}
    assert (tmp_path / "there" / "real.json").read_bytes() == PICKED
    assert (tmp_path / "there" / "new.json").read_bytes() == PICKED


def test_a_linked_input_has_its_output_beside_the_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real.json").write_bytes(BATCH)
    (tmp_path / "batch.json").symlink_to("there/real.json")
    select_file(tmp_path / "batch.json")
    assert (tmp_path / "batch_selected.json").read_bytes() == PICKED
    assert names(tmp_path / "there") == {"real.json"}


def test_another_name_of_an_older_output_keeps_it(batch: Path, tmp_path: Path) -> None:
    (tmp_path / "batch_selected.json").write_bytes(b"older")
    os.link(tmp_path / "batch_selected.json", tmp_path / "kept.json")
    select_file(batch)
    assert (tmp_path / "kept.json").read_bytes() == b"older"


@pytest.mark.parametrize("way", ["same path", "roundabout", "symlink", "hard link", "chain"])
def test_the_output_is_never_the_input(batch: Path, tmp_path: Path, way: str) -> None:
    output = tmp_path / "out.json"
    (tmp_path / "folder").mkdir()
    if way == "same path":
        output = batch
    elif way == "roundabout":
        output = Path(f"{tmp_path}/folder/.././batch.json")
    elif way == "symlink":
        output.symlink_to(batch)
    elif way == "hard link":
        os.link(batch, output)
    else:
        (tmp_path / "link").symlink_to(tmp_path)
        output.symlink_to("link/batch.json")
    before = names(tmp_path)
    error = refused(OutputIsInputError, batch, output)
    assert (error.exit_code, error.path) == (73, str(output))
    with pytest.raises(OutputIsInputError):
        check_files(str(batch), str(output))
    assert batch.read_bytes() == BATCH
    assert names(tmp_path) == before


def test_an_input_that_links_to_what_would_be_its_output(tmp_path: Path) -> None:
    (tmp_path / "batch_selected.json").write_bytes(BATCH)
    (tmp_path / "batch.json").symlink_to("batch_selected.json")
    refused(OutputIsInputError, tmp_path / "batch.json")
    assert (tmp_path / "batch_selected.json").read_bytes() == BATCH


def test_files_outside_the_allowed_folders(tmp_path: Path) -> None:
    for name in ("in", "in-side", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "batch.json").write_bytes(BATCH)
    (tmp_path / "in" / "link.json").symlink_to("../out/batch.json")
    (tmp_path / "in" / "folder").symlink_to("../out")
    roots = [str(tmp_path / "in")]
    for name in ("out/batch.json", "in-side/batch.json", "in/link.json", "in/../out/batch.json"):
        with pytest.raises(InputForbiddenError):
            select_file(tmp_path / name, tmp_path / "in" / "x.json", roots=roots)
    for name in ("out/x.json", "in-side/x.json", "in/folder/x.json", "in/../x.json"):
        with pytest.raises(OutputForbiddenError):
            select_file(tmp_path / "in" / "batch.json", tmp_path / name, roots=roots)
    assert names(tmp_path / "out") == names(tmp_path / "in-side") == {"batch.json"}
    select_file(tmp_path / "in" / "batch.json", roots=[str(tmp_path / "other"), *roots])
    assert names(tmp_path / "in") == {"batch.json", "batch_selected.json", "folder", "link.json"}


# ------------------------------------------------------- an input that changes meanwhile

LONG = b'{"articles": [' + b'{"newspaper4k": {"text": "a b c"}}, ' * 100 + b"{}]}"


def append(data: bytes) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        with path.open("ab") as file:
            file.write(data)

    return change


def overwrite(path: Path) -> None:
    """Change the content of a file of the same size in place."""
    with path.open("r+b") as file:
        file.seek(-len(b"a b c" + b'"}}, {}]}'), os.SEEK_END)
        file.write(b"x y z")


def replace(path: Path) -> None:
    """Replace a file by a copy."""
    path.with_name("other").write_bytes(LONG)
    os.utime(path.with_name("other"), ns=(0, path.stat().st_mtime_ns))
    path.with_name("other").replace(path)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(append(b"\n"), id="white space appended"),
        pytest.param(append(b'{"more": 1}'), id="garbage appended"),
        pytest.param(lambda path: os.truncate(path, 500), id="cut off"),
        pytest.param(lambda path: os.truncate(path, 0), id="emptied"),
        pytest.param(overwrite, id="overwritten"),
        pytest.param(replace, id="replaced"),
        pytest.param(Path.unlink, id="removed"),
    ],
)
@pytest.mark.parametrize("read_size", [64, 1 << 18], ids=["early", "all read"])
def test_an_input_that_changes_while_it_is_read(
    tmp_path: Path, change: Callable[[Path], object], read_size: int
) -> None:
    path = tmp_path / "batch.json"
    path.write_bytes(LONG)
    os.utime(path, ns=(0, 0))  # a clock too coarse for the change must not hide it
    changed = False

    def change_once(_: Progress) -> None:
        nonlocal changed
        if not changed:
            changed = True
            change(path)

    with pytest.raises(SelectionError) as caught:
        select_file(path, progress=change_once, read_size=read_size)
    assert type(caught.value) is InputChangedError
    assert (caught.value.exit_code, caught.value.retryable) == (74, True)
    assert caught.value.path == str(path)
    assert names(tmp_path) <= {"batch.json"}


def test_an_input_that_is_only_read_and_linked_meanwhile_has_not_changed(
    batch: Path, tmp_path: Path
) -> None:
    def read_and_link(progress: Progress) -> None:
        assert batch.read_bytes() == BATCH
        os.link(batch, tmp_path / f"link {progress.bytes_done}")

    select_file(batch, progress=read_and_link)
    assert (tmp_path / "batch_selected.json").read_bytes() == PICKED


# -------------------------------------------------------------------- runs that are ended


class StopError(Exception):
    pass


@pytest.mark.parametrize("stop", [StopError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("calls", [1, 2, 5], ids=["at the first part", "half way", "at the end"])
@pytest.mark.parametrize("older", [None, b"older"], ids=["no output yet", "an older output"])
def test_what_the_progress_callback_raises_ends_the_run_and_leaves_nothing(
    batch: Path, tmp_path: Path, stop: type[BaseException], calls: int, older: bytes | None
) -> None:
    # BATCH has five parts: a gap, an article, a gap, an article, a gap.
    output = tmp_path / "batch_selected.json"
    if older is not None:
        output.write_bytes(older)
    before = names(tmp_path)
    seen: list[int] = []

    def progress(progress: Progress) -> None:
        seen.append(progress.bytes_done)
        if len(seen) == calls:
            raise stop

    with pytest.raises(stop):
        select_file(batch, progress=progress)
    assert len(seen) == calls
    assert names(tmp_path) == before
    assert older is None or output.read_bytes() == older


_HELD = """
import sys
from selection import select_file
def hold(progress):
    if not progress.articles:
        print("writing", flush=True)
        sys.stdin.readline()
print(select_file(sys.argv[1], progress=hold).articles)
"""


class Held:
    """A run in a process of its own that waits in its first progress callback."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HELD, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert line_with("", self._process.stdout, self._process) == "writing\n"

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill the process without any clean-up."""
        self._process.kill()
        self._process.communicate(timeout=SECONDS)

    def finish(self) -> str:
        """Let it go on; what it printed at its end."""
        output, _ = self._process.communicate("go on\n", timeout=SECONDS)
        assert self._process.returncode == 0
        return output


def test_the_file_of_a_killed_run_is_removed_by_the_next_one(batch: Path, tmp_path: Path) -> None:
    with Held(batch) as held:
        held.kill()
        assert len(names(tmp_path)) == 2  # the input, and what it was writing
        select_file(batch)
    assert names(tmp_path) == {"batch.json", "batch_selected.json"}


def test_the_files_of_several_killed_runs_are_removed_even_by_a_run_that_fails(
    batch: Path, tmp_path: Path
) -> None:
    with Held(batch) as first, Held(batch) as second, Held(batch) as third:
        for held in (second, first, third):
            held.kill()
        assert len(names(tmp_path)) == 4
        batch.write_bytes(b"{")
        refused(InvalidJsonError, batch)
    assert names(tmp_path) == {"batch.json"}


def test_the_file_of_a_live_run_is_left_alone_and_both_complete(
    batch: Path, tmp_path: Path
) -> None:
    with Held(batch) as dead, Held(batch) as live:
        dead.kill()
        select_file(batch)
        assert (tmp_path / "batch_selected.json").read_bytes() == PICKED
        assert len(names(tmp_path)) == 3  # and what the live one is writing
        (tmp_path / "batch_selected.json").unlink()
        assert live.finish() == "2\n"
    assert (tmp_path / "batch_selected.json").read_bytes() == PICKED
    assert names(tmp_path) == {"batch.json", "batch_selected.json"}


def test_the_file_of_a_killed_run_is_removed_by_a_run_for_another_output(
    batch: Path, tmp_path: Path
) -> None:
    with Held(batch) as held:
        held.kill()
        select_file(batch, tmp_path / "other.json")
    assert names(tmp_path) == {"batch.json", "other.json"}


@pytest.mark.parametrize("has_removed_it", [True, False])
def test_a_file_that_is_swept_before_it_is_locked(
    batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_removed_it: bool
) -> None:
    # Between making its file and locking it, a run can be taken for a dead one: a second run
    # has removed the file, or it has the lock and is about to remove the file.
    real = fcntl.flock
    second: list[int] = []

    def flock(descriptor: int, operation: int) -> None:
        if not second:
            [temporary] = tmp_path.glob(".*.tmp")
            second.append(os.open(temporary, os.O_RDONLY))
            real(second[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            if has_removed_it:
                temporary.unlink()
                real(second[0], fcntl.LOCK_UN)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    select_file(batch)
    os.close(second.pop())
    assert (tmp_path / "batch_selected.json").read_bytes() == PICKED
    assert names(tmp_path) == {"batch.json", "batch_selected.json"}


# ------------------------------------------------------------- calls that fail for a while


class FailingCall:
    """A function of `os` that fails once, at its call of that number; closing closes first."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, number: int) -> None:
        self.calls = 0
        self._number = number
        self._real = getattr(os, name)
        self._is_close = name == "close"
        patch.setattr(os, name, self)

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self._number:
            if self._is_close:
                self._real(*args, **options)
            raise OSError(errno.EIO, "Input/output error")
        return self._real(*args, **options)


@pytest.mark.parametrize("name", ["open", "stat", "fstat", "lstat", "close", "fsync", "replace"])
def test_a_call_that_fails_once_is_a_retryable_failure_and_leaves_nothing(
    tmp_path: Path, name: str
) -> None:
    path, number, reached = tmp_path / "batch.json", 0, True
    path.write_bytes(BATCH)
    while reached:
        number += 1
        output = tmp_path / f"{number}.json"
        before = len(os.listdir("/proc/self/fd"))
        error: SelectionError | None = None
        with pytest.MonkeyPatch.context() as patch:
            failing = FailingCall(patch, name, number)
            try:
                select_file(path, output, roots=[str(tmp_path)])
            except SelectionError as caught:
                error = caught
        reached = failing.calls >= number
        assert len(os.listdir("/proc/self/fd")) == before
        assert path.read_bytes() == BATCH
        if error is None:
            assert output.read_bytes() == PICKED
        else:
            assert (error.exit_code, error.retryable) == (74, True)
            assert not output.exists() or output.read_bytes() == PICKED
        output.unlink(missing_ok=True)
        assert names(tmp_path) == {"batch.json"}
    assert number > 1


def test_an_output_that_cannot_be_looked_at_is_not_taken_for_another_file(
    batch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first look is at the output's name, which is the input's.
    FailingCall(monkeypatch, "stat", 1)
    with pytest.raises(WriteError):
        select_file(batch, batch)
    assert batch.read_bytes() == BATCH


# ------------------------------------------------------------ the summary and the progress


def test_the_summary(tmp_path: Path) -> None:
    path = batches.write(
        tmp_path / "batch.json",
        [
            batches.picks_newspaper4k(),
            batches.picks_newspaper4k(),
            5,
            batches.picks_readability(),
            batches.picks_trafilatura(),
            {},
            None,
        ],
    )
    summary = select_file(path)
    assert isinstance(summary, Summary)
    assert (summary.input, summary.output) == (str(path), str(tmp_path / "batch_selected.json"))
    assert (summary.articles, summary.skipped) == (5, 2)
    # newspaper4k: the two, and the empty article. The three with two equal texts are ties.
    assert summary.picks == {"newspaper4k": 3, "readability": 1, "trafilatura": 1}
    assert {rule: n for rule, n in summary.rules.items() if n} == {
        Rule.TIE_PRIORITY: 3,
        Rule.SINGLE: 1,
        Rule.FALLBACK: 1,
    }
    assert set(summary.rules) == set(Rule)
    assert summary.bytes == path.stat().st_size
    assert summary.python == platform.python_version().rstrip("+")
    assert summary.unicode == unicodedata.unidata_version
    assert summary.seconds >= 0
    data = json.loads(json.dumps(summary.as_dict()))
    assert data["picks"] == {"newspaper4k": 3, "readability": 1, "trafilatura": 1}
    assert set(data) == {
        *("input", "output", "articles", "skipped", "picks", "rules", "bytes", "seconds"),
        "warnings",
        *("python", "unicode"),
    }


def test_two_runs_give_identical_bytes(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "batch.json", [batches.picks_readability(n=1.10), {}, 3])
    select_file(path, tmp_path / "one")
    for read_size in (1, 7, 64):
        select_file(path, tmp_path / "two", read_size=read_size)
        assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_selecting_an_output_again_gives_the_same_bytes(sample: tuple[Path, Path]) -> None:
    again = Path(select_file(sample[1]).output)
    assert again.read_bytes() == sample[1].read_bytes()


@pytest.mark.parametrize("read_size", [5, 1 << 18])
def test_progress_goes_forward_and_ends_at_the_end(batch: Path, read_size: int) -> None:
    seen: list[tuple[int, int, int]] = []

    def note(progress: Progress) -> None:
        total = sum(progress.picks.values())
        seen.append((progress.bytes_done, progress.articles, total))
        assert progress.bytes_total == len(BATCH)
        assert set(progress.picks) == set(Extractor)

    select_file(batch, progress=note, read_size=read_size)
    assert seen == sorted(seen)
    assert len({done for done, *_ in seen}) == len(seen)
    assert seen[-1] == (len(BATCH), 2, 2)
    assert {articles for _, articles, _ in seen} == {0, 1, 2}
    assert all(articles == total for _, articles, total in seen)


def test_a_progress_that_is_kept_stays_what_it_was(batch: Path) -> None:
    kept: list[Progress] = []
    select_file(batch, progress=kept.append)
    assert [sum(progress.picks.values()) for progress in kept] == [0, 1, 1, 2, 2]
    assert [progress.articles for progress in kept] == [0, 1, 1, 2, 2]
