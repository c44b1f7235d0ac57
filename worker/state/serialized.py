"""Read the output of RQ's serializers, JSON or pickle, as plain data.

Each client that can write to the server can store a pickle that runs code where it is loaded.
:func:`read` never loads one: it interprets the pickle's instructions and builds strings,
numbers, lists and dictionaries only. An instruction that calls something leaves a placeholder.
"""

from __future__ import annotations

import json
import os
import pickle
import pickletools
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# A job's data and meta take some hundred bytes. More than this is not decoded, because each
# instruction of a pickle takes a microsecond.
_MOST_BYTES = 1 << 18
_LONGEST_PATH = 4096


class Form(StrEnum):
    """How a value is serialized."""

    JSON = "json"
    PICKLE = "pickle"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Serialized:
    """A value as plain data, None if it is unreadable, and how it was serialized."""

    form: Form
    value: Any


_UNREADABLE = Serialized(Form.UNREADABLE, None)


def read(raw: bytes | None) -> Serialized:
    """Read a value that RQ has written without running any part of it; never raises."""
    if not raw or len(raw) > _MOST_BYTES:
        return _UNREADABLE
    # Nesting and digits have limits in Python, and each is an exception of its own kind.
    try:
        if not raw.startswith(pickle.PROTO):
            return Serialized(Form.JSON, json.loads(raw))
    except (ValueError, RecursionError, MemoryError):
        pass
    try:
        return Serialized(Form.PICKLE, _Pickle().read(raw))
    except (ValueError, LookupError, TypeError, RecursionError, MemoryError):
        return _UNREADABLE


def read_compressed(raw: bytes | None) -> Serialized:
    """Read a value that can be compressed, such as a job's ``data``; never raises."""
    return read(decompress(raw or b""))


def decompress(raw: bytes) -> bytes:
    """Return the decompressed bytes, at most as many as :func:`read` accepts plus one.

    Bytes that are not compressed are returned unchanged, as in RQ.
    """
    try:
        return zlib.decompressobj().decompress(raw, _MOST_BYTES + 1)
    except zlib.error:
        return raw


class _Placeholder:
    """Takes the place of an object that only loading the pickle would create."""


_OBJECT = _Placeholder()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
# How many values an instruction that creates an object takes; each leaves one value.
_CALLS = {"GLOBAL": 0, "STACK_GLOBAL": 2, "REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3, "BUILD": 2}


class _Pickle:
    """The part of the pickle machine that builds plain data."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def read(self, raw: bytes) -> Any:
        """Return the value.

        Raises:
            ValueError, LookupError, TypeError: it is not a pickle, or not one of plain data.
        """
        for opcode, argument, _ in pickletools.genops(raw):
            self._run(opcode.name, argument)
        return self._stack[-1]

    def _run(self, name: str, argument: Any) -> None:
        stack, memo = self._stack, self._memo
        if name in ("PROTO", "FRAME", "STOP"):
            return
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            self._marks.append(len(stack))
        elif name in ("EMPTY_LIST", "EMPTY_TUPLE"):
            stack.append([])
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name == "EMPTY_SET":
            stack.append(_OBJECT)
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[argument])
        elif name in ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS"):
            self._fill(name)
        elif name in ("LIST", "TUPLE") or name in _TUPLES:
            stack.append(self._pop(_TUPLES.get(name)))
        elif name == "FROZENSET":
            self._pop(None)
            stack.append(_OBJECT)
        elif name in _CALLS:
            self._call(name)
        elif isinstance(argument, str | int | float | bytes | bytearray):
            stack.append(argument)
        else:
            raise ValueError(f"{name} does not build plain data")

    def _pop(self, count: int | None) -> list[Any]:
        """Remove and return the last ``count`` values, or those after the last mark."""
        start = self._marks.pop() if count is None else len(self._stack) - count
        if start < 0:
            raise LookupError("the stack is too short")
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _fill(self, name: str) -> None:
        several, is_list = name.endswith("S"), name.startswith("APPEND")
        items = self._pop(None if several else 1 if is_list else 2)
        target = self._stack[-1]
        if is_list:
            target.extend(items) if isinstance(target, list) else None
        elif isinstance(target, dict):
            pairs = zip(items[::2], items[1::2])
            target.update({key: value for key, value in pairs if isinstance(key, str)})

    def _call(self, name: str) -> None:
        """Put a placeholder in the place of an object.

        An object that is created from texts only becomes these texts, joined as a path: a
        member of an enumeration its value, a path its parts.
        """
        *_, arguments = [None, *self._pop(_CALLS[name])]
        texts = arguments if name == "REDUCE" and isinstance(arguments, list) else []
        is_text = texts and all(isinstance(text, str) for text in texts)
        # A text can be joined with itself repeatedly and grow exponentially.
        is_text = is_text and sum(map(len, texts)) < _LONGEST_PATH
        self._stack.append(os.path.join(*texts) if is_text else _OBJECT)
