"""A worker process, started and fed by :mod:`selection.parallel.pool`.

It reads function calls from standard input and writes their results to standard output, both as
messages of :mod:`multiprocessing.connection`. It ends when its input ends, so it outlives the
process that started it by its current task at most.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from multiprocessing.connection import Connection
from types import FrameType
from typing import NoReturn

from selection.errors import OUT_OF_MEMORY, OutOfMemoryError, SelectionError

#: The message that it writes when it is ready.
READY = b"ready"


def main() -> None:
    """Call functions until the input ends."""
    signal.signal(signal.SIGTERM, _stop)
    requests = Connection(os.dup(sys.stdin.fileno()), writable=False)
    results = Connection(os.dup(sys.stdout.fileno()), readable=False)
    sys.stdout = sys.stderr  # printed text must not mix with the results
    try:
        results.send_bytes(READY)
        while True:
            results.send_bytes(_result_of(requests.recv_bytes()))
    except (EOFError, BrokenPipeError):
        return


def _result_of(request: bytes) -> bytes:
    function, args = pickle.loads(request)
    try:
        result = True, function(*args)
    except SelectionError as error:
        result = False, error
    except MemoryError:
        result = False, OutOfMemoryError(OUT_OF_MEMORY)
    return pickle.dumps(result, pickle.HIGHEST_PROTOCOL)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Exit by an exception, so that a temporary file is removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
