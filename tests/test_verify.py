"""``verify``: whatever is not the input plus one correct pick per article is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selection import Extractor, Progress, SelectionError, select_file
from selection.errors import DifferenceError
from selection.verify import verify_files
from tests.support import batches

# One article that goes to newspaper4k and one that goes to trafilatura, in few bytes.
FIRST = b'{"newspaper4k": {"text": "a b"}}'
SECOND = b'{"trafilatura": {"text": "a b"}, "selected_extractor": null}'
INPUT = b'{"articles": [' + FIRST + b", 5, " + SECOND + b'], "n": 1}'
FIRST_PICKED = b'{"newspaper4k": {"text": "a b"}, "selected_extractor": "newspaper4k"}'
SECOND_PICKED = b'{"trafilatura": {"text": "a b"}, "selected_extractor": "trafilatura"}'
OUTPUT = b'{"articles": [' + FIRST_PICKED + b", 5, " + SECOND_PICKED + b'], "n": 1}'


def verify(tmp_path: Path, output: bytes, input: bytes = INPUT) -> tuple[int, int]:
    (tmp_path / "in.json").write_bytes(input)
    (tmp_path / "out.json").write_bytes(output)
    result = verify_files(tmp_path / "in.json", tmp_path / "out.json")
    return result.articles, result.skipped


def test_the_right_output(tmp_path: Path) -> None:
    assert verify(tmp_path, OUTPUT) == (2, 1)


def test_white_space_around_an_added_member_is_free(tmp_path: Path) -> None:
    spaced = OUTPUT.replace(
        b', "selected_extractor": "newspaper4k"', b',\n\t"selected_extractor"  :\r\n"newspaper4k"'
    )
    assert verify(tmp_path, spaced) == (2, 1)


@pytest.mark.parametrize(
    ("right", "wrong", "article", "offset"),
    [
        pytest.param(b'"newspaper4k"}', b'"readability"}', 0, 1, id="wrong pick"),
        pytest.param(b'"newspaper4k"}', b'"ambiguous"}', 0, 1, id="no extractor"),
        pytest.param(b'"newspaper4k"}', b"null}", 0, -len(b', "selected_extractor": '), id="null"),
        pytest.param(b', "selected_extractor": "newspaper4k"', b"", 0, 0, id="no pick"),
        pytest.param(
            b'"newspaper4k"}', b'"newspaper4k", "why": 1}', 0, len(b'"newspaper4k"'), id="more"
        ),
        pytest.param(b'{"text": "a b"}', b'{"text": "a B"}', 0, 12, id="text changed"),
        pytest.param(b'{"text": "a b"}', b'{"text":"a b"}', 0, 8, id="white space changed"),
        pytest.param(b'"trafilatura"}', b'"newspaper4k"}', 2, 1, id="replaced by a wrong pick"),
        pytest.param(b", 5, ", b", 6, ", None, 2, id="gap changed"),
        pytest.param(b'"n": 1', b'"n": 2', None, 5, id="root changed"),
        pytest.param(b", 5, " + SECOND_PICKED, b", 5", None, 3, id="article removed"),
        pytest.param(
            b", 5, " + SECOND_PICKED,
            b", 5, " + SECOND_PICKED + b", {}",
            None,
            len(b", 5, " + SECOND_PICKED),
            id="article added",
        ),
    ],
)
def test_the_first_difference(
    tmp_path: Path, right: bytes, wrong: bytes, article: int | None, offset: int
) -> None:
    place = OUTPUT.index(right) + offset
    with pytest.raises(DifferenceError) as caught:
        verify(tmp_path, OUTPUT.replace(right, wrong, 1))
    assert caught.value.byte == place
    assert caught.value.article == article
    assert caught.value.path == str(tmp_path / "out.json")


def test_an_input_with_the_pick_twice_needs_it_twice(tmp_path: Path) -> None:
    twice = b'{"articles": [{"selected_extractor": 1, "selected_extractor": [2, {}]}]}'
    right = twice.replace(b": 1", b': "newspaper4k"').replace(b"[2, {}]", b'"newspaper4k"')
    assert verify(tmp_path, right, twice) == (1, 0)
    with pytest.raises(DifferenceError):
        verify(tmp_path, twice.replace(b": 1", b': "newspaper4k"'), twice)


def test_an_output_that_is_not_json(tmp_path: Path) -> None:
    with pytest.raises(SelectionError) as caught:
        verify(tmp_path, OUTPUT[:-1])
    assert caught.value.path == str(tmp_path / "out.json")
    assert caught.value.exit_code == 65


def test_gaps_of_any_length_are_compared(tmp_path: Path) -> None:
    # Longer than one read, so that the two files' parts end in different places.
    long = json.dumps({"before": "x" * 700_000, "articles": [{}], "after": "y" * 700_000}).encode()
    source = tmp_path / "long.json"
    source.write_bytes(long)
    summary = select_file(source)
    assert verify_files(source, summary.output).articles == 1
    output = Path(summary.output)
    changed = output.read_bytes()
    output.write_bytes(changed[:-500] + b"z" + changed[-499:])
    with pytest.raises(DifferenceError) as caught:
        verify_files(source, output)
    assert caught.value.byte == len(changed) - 500


def test_the_sample(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "examples" / "river_plate_extracted.json"
    summary = select_file(sample, tmp_path / "picked.json")
    assert verify_files(sample, summary.output).articles == 20
    again = select_file(summary.output)
    assert verify_files(summary.output, again.output).articles == 20


def test_progress_ends_at_the_last_article(tmp_path: Path) -> None:
    path = batches.write(tmp_path / "b.json", [batches.picks_newspaper4k()] * 3)
    summary = select_file(path)
    seen: list[Progress] = []
    verify_files(path, summary.output, seen.append)
    assert [progress.picks for progress in seen] == [{Extractor.NEWSPAPER4K: n} for n in (1, 2, 3)]
    assert [progress.articles for progress in seen] == [1, 2, 3]
    assert {progress.bytes_total for progress in seen} == {Path(summary.output).stat().st_size}
