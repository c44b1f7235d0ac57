"""Which processes run on this machine, and which of them is meant."""

from __future__ import annotations

import os

_ZOMBIE_STATES = ("Z", "X", "x")


def runs(pid: int) -> bool:
    """Return whether the process runs; a zombie does not, since it has ended."""
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
    """Return a text that no other process of any machine or container has, or "".

    Containers may share a host name and a process number. A boot of the kernel, a namespace
    of process numbers and a time of start are one process only. The text is empty where
    the system does not say (it is not Linux), or where the process does not exist.
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
    """The fields of ``/proc/PID/stat`` from the state on; [] without the process, None
    without ``/proc``.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The second field is the name in parentheses, which may contain both.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return [] if os.path.isdir("/proc/self") else None
