"""A helper process, started and fed by :mod:`selection.crew`.

It reads lists of articles from standard input and writes their picks to standard output, both
as messages of :mod:`multiprocessing.connection`. It ends when its input ends, so it does not
outlive whoever started it.
"""

from __future__ import annotations

import os
import pickle
import sys
from multiprocessing.connection import Connection

from selection.rules import Extractor, Rule, select_article

#: What is written when it can begin.
READY = b"ready"
#: Its exit code when an article needs more memory than it gets.
OUT_OF_MEMORY = 74

_EXTRACTOR_NUMBER = {extractor: number for number, extractor in enumerate(Extractor)}
_RULE_NUMBER = {rule: number for number, rule in enumerate(Rule)}


def answer(articles: bytes) -> bytes:
    """The picks of a pickled list of articles: two bytes each, for the extractor and the rule."""
    decisions = map(select_article, pickle.loads(articles))
    return bytes(
        number
        for decision in decisions
        for number in (_EXTRACTOR_NUMBER[decision.extractor], _RULE_NUMBER[decision.rule])
    )


def main() -> None:
    """Answer until the input ends."""
    questions = Connection(os.dup(sys.stdin.fileno()), writable=False)
    answers = Connection(os.dup(sys.stdout.fileno()), readable=False)
    try:
        answers.send_bytes(READY)
        while True:
            answers.send_bytes(answer(questions.recv_bytes()))
    except (EOFError, BrokenPipeError):
        return
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
