"""The errors of the operating system that are transient, for every call on a file."""

from __future__ import annotations

import errno

# Not every system has all of them: EREMOTEIO and EHOSTDOWN, for example.
_NAMES = (
    # Space, memory and descriptors, which other processes free.
    *("ENOSPC", "EDQUOT", "ENOMEM", "ENOBUFS", "EMFILE", "ENFILE", "ENOLCK"),
    # The call was interrupted, or something else holds the file.
    *("EINTR", "EAGAIN", "EWOULDBLOCK", "EBUSY", "ETXTBSY", "EDEADLK"),
    # A disk or a file system in user space failed, restarts or is not mounted.
    *("EIO", "ENXIO", "ENODEV", "ENOMEDIUM", "EREMOTEIO", "ESTALE"),
    # The server behind a network file system cannot be reached.
    *("ENOTCONN", "ESHUTDOWN", "ECONNRESET", "ECONNABORTED", "ECONNREFUSED", "EPIPE"),
    *("ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH"),
    *("ETIMEDOUT", "ENOLINK", "ECOMM", "EPROTO"),
)

_TRANSIENT = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))


def is_transient(error: OSError) -> bool:
    """Return whether the same call can succeed later although no one changes anything."""
    return error.errno in _TRANSIENT
