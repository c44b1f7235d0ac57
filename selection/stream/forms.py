"""Recognize files in other formats by their first bytes or by the place where parsing ended."""

from __future__ import annotations

import re

from selection.errors import (
    CompressedError,
    DataError,
    EmptyFileError,
    EncodingError,
    InvalidJsonError,
    OtherFormError,
    SeveralValuesError,
)

#: How many bytes of the beginning :func:`other_form` looks at.
HEAD_BYTES = 512

_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"PK\x05\x06": ("zip", "unzip"),
}
_UTF16_OR_32 = re.compile(rb"\xff\xfe|\xfe\xff|\x00|[^\x00]\x00")
_NOTHING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*")
_MARKUP = re.compile(rb"[!?A-Za-z]")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def other_form(head: bytes) -> DataError | None:
    """Recognize by its first bytes a file that is not JSON in UTF-8.

    Args:
        head: the first :data:`HEAD_BYTES` bytes, or all if there are fewer.

    Returns:
        The error that names the format and what to do, with the byte and without the path;
        None if the file can be a batch.
    """
    if not head:
        return EmptyFileError("the file is empty; fetch it again", byte=0)
    for signature, (name, program) in _COMPRESSED.items():
        if head.startswith(signature):
            return CompressedError(
                f"the file is compressed ({name}); unpack it first: {program} FILE", byte=0
            )
    if not head.strip(b"\0"):
        return OtherFormError(
            "the file begins with NUL bytes only, as after a crash or an incomplete copy; "
            "fetch it again",
            byte=0,
        )
    if _UTF16_OR_32.match(head):
        return EncodingError(
            "the file is UTF-16 or UTF-32; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE",
            byte=0,
        )
    if head.startswith(_LFS_POINTER):
        return OtherFormError(
            "the file is a Git LFS pointer, not the content; fetch that first: git lfs pull", byte=0
        )
    return _nothing_or_markup(head)


def _nothing_or_markup(head: bytes) -> DataError | None:
    start = match.end() if (match := _NOTHING.match(head)) else 0
    if start == len(head) < HEAD_BYTES:
        return only_white_space(start)
    if head[start : start + 1] == b"<" and _MARKUP.match(head, start + 1):
        return OtherFormError(
            "the file is HTML or XML, perhaps an error page in place of a download; fetch it again",
            byte=start,
        )
    return None


def only_white_space(size: int) -> InvalidJsonError:
    """Return the error of a file that has only white space.

    Args:
        size: its size in bytes.
    """
    message = "invalid JSON: the file has only white space; fetch it again"
    return InvalidJsonError(message, byte=size)


def several_values(before: bytes, behind: bytes, byte: int) -> DataError | None:
    """Recognize a sequence of JSON values by the bytes around the end of the first one.

    Args:
        before, behind: some bytes on both sides of the beginning of the second one.
        byte: offset of that beginning.

    Returns:
        The error, without the path; None if the file is not such a sequence.
    """
    if not behind.startswith((b"{", b"[")):
        return None
    blank = before[len(before.rstrip()) :]
    form = "one per line (JSON Lines)" if b"\n" in blank else "one after another"
    return SeveralValuesError(
        f"invalid JSON: the file has several values, {form}; a batch is one object. For articles "
        "one a line use --lines or a name in .jsonl; put each batch into a file of its own",
        byte=byte,
    )
