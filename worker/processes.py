"""Processes of this machine: whether one runs, and how it is identified."""

from __future__ import annotations

import os

_ZOMBIE_STATES = ("Z", "X", "x")


def is_running(pid: int) -> bool:
    """Return True if the process runs; a zombie has ended."""
    if pid <= 0:
        return False
    fields = _fields(pid)
    if fields is not None:
        return bool(fields) and fields[0] not in _ZOMBIE_STATES
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # another user's
    except (OSError, OverflowError):
        return False
    return True


def identity(pid: int) -> str:
    """Return a text that is unique to a process of all machines and containers, or "".

    Containers can share a host name and a process number. The boot of the kernel, the
    namespace of process numbers and the start time identify one process. The text is empty
    if the process does not exist or the system is not Linux.
    """
    fields = _fields(pid)
    if not fields:
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        namespace = os.readlink("/proc/self/ns/pid")
        return f"{boot} {namespace} {pid} {fields[19]}"
    except (OSError, IndexError):
        return ""


def _fields(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` from the state on.

    The list is empty if the process does not exist. None means that there is no ``/proc``.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The second field is the name in parentheses, which can contain parentheses.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return [] if os.path.isdir("/proc/self") else None
