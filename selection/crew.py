"""Decide the articles of a batch in this process and in others, in order and in bounded memory."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType

from selection.document import Article, Part
from selection.errors import HelperError
from selection.helper import OUT_OF_MEMORY, READY
from selection.pick import Decided, Pick, pick
from selection.rules import Extractor, Rule

# A chunk is what a helper gets at once. Two of them fit into a pipe, so that handing out the
# second does not wait for the first.
_CHUNK_BYTES, _CHUNK_ARTICLES = 1 << 18, 256
_CHUNKS_AHEAD = 2
_PIPE_BYTES = 1 << 20

_EXTRACTORS, _RULES = tuple(Extractor), tuple(Rule)


def decided(parts: Iterable[Part], jobs: int, path: str) -> Iterator[Decided]:
    """The parts of a batch, in order, each article with its pick.

    Args:
        parts: what :func:`selection.scan.scan` gives.
        jobs: how many processes decide, this one included.
        path: the batch's name, for errors.

    Raises:
        HelperError: a helper process cannot be started, or ended before its time.
    """
    try:
        with _Crew(jobs - 1) as crew:
            yield from crew.decided(parts)
    except HelperError as error:
        error.path = path
        raise


class _Chunk:
    """Some parts in a row, and the picks of their articles as soon as they are there."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts
        self._picks: Iterator[Pick] = iter(())
        self.helper: _Helper | None = None  # who has been asked and has not answered

    def articles(self) -> list[Article]:
        return [part for part in self._parts if isinstance(part, Article)]

    def decide(self) -> None:
        self._picks = iter([pick(article) for article in self.articles()])

    def take(self, answer: bytes) -> None:
        numbers = zip(answer[::2], answer[1::2])
        self._picks = (Pick(_EXTRACTORS[one], _RULES[other]) for one, other in numbers)
        self.helper = None

    def decided(self) -> Iterator[Decided]:
        for part in self._parts:
            yield part, next(self._picks) if isinstance(part, Article) else None


class _Helper:
    """A helper process and the chunks that it has been asked about, in order."""

    def __init__(self) -> None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        # -P: a folder "selection" where the command was started is none of its business.
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from selection.helper import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                bufsize=0,
                # Ctrl-C is for the process that started it, which ends it.
                process_group=0,
            )
        except OSError as error:
            raise HelperError(f"a helper process cannot be started: {error.strerror}") from None
        assert self._process.stdin
        assert self._process.stdout
        self._questions = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self.answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        _enlarge(self._questions.fileno())
        self._is_ready = False
        self._asked: deque[_Chunk] = deque()

    @property
    def has_time(self) -> bool:
        return self._is_ready and len(self._asked) < _CHUNKS_AHEAD

    def ask(self, chunk: _Chunk) -> None:
        fields = [article.fields for article in chunk.articles()]
        try:
            self._questions.send_bytes(pickle.dumps(fields, pickle.HIGHEST_PROTOCOL))
        except BrokenPipeError:
            raise self._error() from None
        chunk.helper = self
        self._asked.append(chunk)

    def receive(self) -> None:
        """Wait for its next answer and give it to the chunk that it is about."""
        try:
            message = self.answers.recv_bytes()
        except (EOFError, ConnectionResetError):
            raise self._error() from None
        if self._is_ready:
            self._asked.popleft().take(message)
        elif message == READY:
            self._is_ready = True
        else:
            raise self._error()

    def _error(self) -> HelperError:
        self._process.kill()
        code = self._process.wait()
        if code == OUT_OF_MEMORY:
            raise MemoryError
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return HelperError(
            f"a helper process ended {how} before its time; run again, and if it happens "
            "again, with one job"
        )

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._questions.close()
        self.answers.close()


class _Crew:
    """This process, which reads and writes and decides what nobody else has time for, and helpers.

    An article that ends a helper ends the run: it would end this process, too.
    """

    def __init__(self, helpers: int) -> None:
        self._helpers: list[_Helper] = []
        self._count = helpers
        # Those that the helpers have, and as many again that were decided meanwhile.
        self._most_waiting = 2 * _CHUNKS_AHEAD * helpers

    def __enter__(self) -> _Crew:
        try:
            for _ in range(self._count):
                self._helpers.append(_Helper())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        for helper in self._helpers:
            helper.end()

    def decided(self, parts: Iterable[Part]) -> Iterator[Decided]:
        waiting: deque[_Chunk] = deque()
        for chunk in _chunks(parts):
            self._listen()
            if helper := next((helper for helper in self._helpers if helper.has_time), None):
                helper.ask(chunk)
            else:
                chunk.decide()
            waiting.append(chunk)
            while waiting and (waiting[0].helper is None or len(waiting) > self._most_waiting):
                yield from _finished(waiting.popleft())
        for chunk in waiting:
            yield from _finished(chunk)

    def _listen(self) -> None:
        """Take the answers that are there."""
        by_connection = {helper.answers: helper for helper in self._helpers}
        while there := wait(list(by_connection), timeout=0):
            for connection in there:
                by_connection[connection].receive()  # type: ignore[index]


def _finished(chunk: _Chunk) -> Iterator[Decided]:
    while chunk.helper is not None:
        chunk.helper.receive()
    return chunk.decided()


def _chunks(parts: Iterable[Part]) -> Iterator[_Chunk]:
    held: list[Part] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part.raw)
        if size >= _CHUNK_BYTES or len(held) >= _CHUNK_ARTICLES:
            yield _Chunk(held)
            held, size = [], 0
    if held:
        yield _Chunk(held)


def _enlarge(pipe: int) -> None:
    # Not every system can; then handing out waits now and then.
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, OSError):
        return
