"""Match the articles of two batches, in any order, in bounded memory.

The versions are kept in a database in a temporary file, which has no name and ends with the
process.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from enum import IntEnum
from types import TracebackType

from selection.errors import WriteError
from selection.model import Extractor, Rule, State
from selection.report.comparison import Difference, MatchedBy, Version

# Pages of the database that are in memory, in KiB.
_CACHE = 4096

_SCHEMA = f"""
PRAGMA journal_mode = OFF;
PRAGMA cache_size = -{_CACHE};
CREATE TABLE version (side INTEGER, place INTEGER, content BLOB, PRIMARY KEY (side, place));
CREATE TABLE unmatched (
    side INTEGER, place INTEGER, id BLOB, url BLOB, numbered INTEGER, PRIMARY KEY (side, place)
);
CREATE TABLE pair (new INTEGER PRIMARY KEY, old INTEGER UNIQUE, stage TEXT);
BEGIN;
"""

# The n-th article with a key is matched with the n-th of the other batch.
_MATCH = """
WITH keyed AS (
    SELECT side, place, {key} AS key,
        row_number() OVER (PARTITION BY side, {key} ORDER BY place) AS nth
    FROM unmatched WHERE {key} IS NOT NULL
)
INSERT INTO pair
SELECT new.place, old.place, ? FROM keyed AS new JOIN keyed AS old USING (key, nth)
WHERE new.side = 1 AND old.side = 0
"""
_FORGET = (
    "DELETE FROM unmatched WHERE side = 0 AND place IN (SELECT old FROM pair)",
    "DELETE FROM unmatched WHERE side = 1 AND place IN (SELECT new FROM pair)",
)
_IN_NEW = """
SELECT old.content, new.content, pair.stage FROM version AS new
LEFT JOIN pair ON pair.new = new.place
LEFT JOIN version AS old ON old.side = 0 AND old.place = pair.old
WHERE new.side = 1 ORDER BY new.place
"""
_ONLY_IN_OLD = """
SELECT version.content FROM version JOIN unmatched USING (side, place)
WHERE side = 0 ORDER BY place
"""


class Side(IntEnum):
    """Name the two batches."""

    OLD = 0
    NEW = 1


class Matcher:
    """Match the versions of articles, used as a context manager.

    Versions with the same id are matched first, then, of those that are left, those with the
    same url, and last the versions with neither id nor url by their index. Of several
    versions with one id or url, the n-th is matched with the n-th of the other batch.

    Raises:
        WriteError: the temporary file cannot be written or read.
    """

    def __enter__(self) -> Matcher:
        with _errors():
            # The empty name is that of a database in a temporary file.
            self._database = sqlite3.connect("", isolation_level=None)
            self._database.executescript(_SCHEMA)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def add(self, side: Side, version: Version) -> None:
        """Keep a version; its index is new in its batch."""
        keys = _key(version.id), _key(version.url)
        place = version.index
        has_none = keys == (None, None)
        with _errors():
            self._database.execute(
                "INSERT INTO version VALUES (?, ?, ?)", (side, place, _packed(version))
            )
            self._database.execute(
                "INSERT INTO unmatched VALUES (?, ?, ?, ?, ?)",
                (side, place, *keys, place if has_none else None),
            )

    def differences(self) -> Iterator[Difference]:
        """Match all versions and yield every article once.

        The order is that of the new batch, then, of those that are only in the old batch, that
        of the old batch.
        """
        with _errors():
            for key, by in _KEYS.items():
                self._database.execute(_MATCH.format(key=key), (by.value,))
                for statement in _FORGET:
                    self._database.execute(statement)
            for old, new, stage in self._database.execute(_IN_NEW):
                if stage is None:
                    yield Difference(None, _unpacked(new), None)
                else:
                    yield Difference(_unpacked(old), _unpacked(new), MatchedBy(stage))
            for (old,) in self._database.execute(_ONLY_IN_OLD):
                yield Difference(_unpacked(old), None, None)


# The columns of `unmatched` that are keys, in the order of the stages.
_KEYS = {"id": MatchedBy.ID, "url": MatchedBy.URL, "numbered": MatchedBy.INDEX}


def _key(text: str | None) -> bytes | None:
    """Return a key of a fixed size; None without a text."""
    if not text:
        return None
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _packed(version: Version) -> bytes:
    return json.dumps(asdict(version), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _unpacked(content: bytes) -> Version:
    values = json.loads(content)
    for name in ("pick", "rules_pick"):
        values[name] = Extractor(values[name])
    values["rule"] = values["rule"] and Rule(values["rule"])
    values["states"] = tuple(map(State, values["states"]))
    values["errors"] = tuple(values["errors"])
    return Version(**values)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise WriteError(f"a temporary file: writing failed: {error}") from None
