"""Set up the child processes of a worker: each ends with it and closes its sockets.

A child that outlives its killed worker runs a batch that another worker runs again, or keeps
open the socket over which the server sends the next job.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

from redis import Redis

_PR_SET_PDEATHSIG = 1
_SECONDS_BETWEEN_LOOKS = 0.5

# Loaded before any fork, because a fork can copy the loader's lock in its locked state.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def set_up_child(parent: int, connection: Redis) -> None:
    """Let a new process end with the process ``parent``, and close that one's connections."""
    _end_with(parent)
    _close_inherited(connection)


def signal_at_end_of_parent(number: int) -> bool:
    """Let the system send this process a signal when its parent ends.

    Returns:
        Whether the system can: only Linux does.
    """
    if _LIBC is None:
        return False
    _LIBC.prctl(_PR_SET_PDEATHSIG, number)
    return True


def _end_with(parent: int) -> None:
    if not signal_at_end_of_parent(signal.SIGKILL):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # The parent can have ended before.
    _end_without(parent)


def _end_without(parent: int) -> None:
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _watch(parent: int) -> None:
    while True:
        _end_without(parent)
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _close_inherited(connection: Redis) -> None:
    """Close the parent's sockets; the pool opens its own connections in this process."""
    pool = connection.connection_pool
    for each in [*pool._available_connections, *pool._in_use_connections]:
        # Not disconnect(): it takes locks that a thread can have held during the fork.
        if each._sock is not None:
            each._sock.close()
