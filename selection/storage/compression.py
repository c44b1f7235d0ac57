"""Compression formats: recognized by the first bytes, read and written as streams.

The libraries were chosen by the processor time that a batch of 36 MB takes on one core of an
x86-64 machine with Python 3.11:

=====================  ============  ==============
library                decompress    compress
=====================  ============  ==============
zlib (gzip, level 6)   0.05 s        0.59 s, 4.3 MB
zlib-ng (level 6)      0.02 s        0.14 s, 4.5 MB
isal (level 3)         0.02 s        0.09 s, 4.4 MB
zstandard (level 3)    0.01 s        0.06 s, 2.4 MB
backports.zstd         0.01 s        0.05 s, 2.4 MB
=====================  ============  ==============

zlib-ng has the levels 1 to 9 of gzip, isal has four of its own. backports.zstd is the module that
Python 3.14 has as :mod:`compression.zstd`, so that one interface serves every version. bzip2 and xz
are always the standard library's. A library is imported when it is first used, because most runs
read a file that is not compressed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from selection.errors import CompressionLevelError, ExtraMissingError

#: How many bytes of the beginning :func:`recognized` looks at.
MAGIC_BYTES = 6

# More memory for the window of a file is refused. xz -9 needs 65 MB, zstd --ultra -22 128 MB.
_MOST_WINDOW_LOG = 27
_MOST_XZ_MEMORY = 1 << 28

_GZIP_WBITS = 31  # a gzip header with a time of 0 and no name, so that output is deterministic
_GZIP_HEADER = b"\x1f\x8b"
_SKIPPABLE_FRAMES = tuple(bytes([number]) + b"\x2a\x4d\x18" for number in range(0x50, 0x60))


class Decompressor(Protocol):
    """Decompresses one member (gzip), stream (bzip2, xz) or frame (zstd)."""

    @property
    def eof(self) -> bool:
        """Whether the end of the member was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing to return without more input."""

    @property
    def unused_data(self) -> bytes:
        """The input behind the end of the member."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return at most ``max_length`` bytes; the rest of the input is kept."""


class Compressor(Protocol):
    """Compresses one member, stream or frame."""

    def compress(self, data: bytes, /) -> bytes:
        """Return the next compressed bytes, possibly none."""

    def flush(self) -> bytes:
        """Return the last compressed bytes."""


@dataclass(frozen=True, slots=True)
class Format:
    """A compression format.

    Attributes:
        name: as the errors and the documentation name it.
        suffix: of a file's name.
        magic: what a member begins with.
        levels: the first and the last compression level.
        default_level: the level if none is given.
        padding: NUL bytes behind a member must be a multiple of this; 0: there must be none.
            gzip(1) and xz(1) accept them.
        decompressor: makes a decompressor of one member.
        compressor: makes a compressor for a level.
        errors: what the decompressor raises for damaged data.
    """

    name: str
    suffix: str
    magic: tuple[bytes, ...]
    levels: tuple[int, int]
    default_level: int
    padding: int
    decompressor: Callable[[], Decompressor]
    compressor: Callable[[int], Compressor]
    errors: Callable[[], tuple[type[Exception], ...]]

    def compressor_for(self, level: int | None) -> Compressor:
        """Return a compressor.

        Args:
            level: the compression level; None: the format's default.

        Raises:
            CompressionLevelError: the format does not have the level.
            ExtraMissingError: the library for the format is not installed.
        """
        first, last = self.levels
        if level is not None and not first <= level <= last:
            raise CompressionLevelError(
                f"the compression level of {self.name} is {first} to {last}, not {level}"
            )
        return self.compressor(self.default_level if level is None else level)


def recognized(head: bytes) -> Format | None:
    """Return the compression format of a file by its first bytes, None if it is not compressed.

    Args:
        head: the first :data:`MAGIC_BYTES` bytes, or all if there are fewer.
    """
    return next((each for each in FORMATS if head.startswith(each.magic)), None)


class _Gzip:
    """The interface of the other decompressors for that of zlib."""

    def __init__(self) -> None:
        self._member = _zlib().decompressobj(wbits=_GZIP_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return bool(self._member.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._member.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        rest: bytes = self._member.unconsumed_tail
        output: bytes = self._member.decompress(rest + data, max_length)
        # Less than was allowed is all that the input gives.
        self.needs_input = len(output) < max_length and not self._member.unconsumed_tail
        return output


def _zlib() -> ModuleType:
    try:
        return import_module("zlib_ng.zlib_ng")
    except ImportError:
        return import_module("zlib")


def _bz2() -> ModuleType:
    return import_module("bz2")


def _lzma() -> ModuleType:
    return import_module("lzma")


def _zstd() -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ExtraMissingError(
            "for zstd, install: pip install 'deterministic-content-selection[compression]'"
        ) from None
    return zstd


def _zstd_decompressor() -> Decompressor:
    zstd = _zstd()
    options = {zstd.DecompressionParameter.window_log_max: _MOST_WINDOW_LOG}
    decompressor: Decompressor = zstd.ZstdDecompressor(options=options)
    return decompressor


def _zstd_compressor(level: int) -> Compressor:
    zstd = _zstd()
    parameter = zstd.CompressionParameter
    compressor: Compressor = zstd.ZstdCompressor(
        options={parameter.compression_level: level, parameter.checksum_flag: 1}
    )
    return compressor


FORMATS = (
    Format(
        "gzip",
        ".gz",
        (_GZIP_HEADER,),
        levels=(1, 9),
        default_level=6,
        padding=1,
        decompressor=_Gzip,
        compressor=lambda level: _zlib().compressobj(level, _zlib().DEFLATED, _GZIP_WBITS),
        errors=lambda: (_zlib().error,),
    ),
    Format(
        "zstd",
        ".zst",
        (b"\x28\xb5\x2f\xfd", *_SKIPPABLE_FRAMES),
        levels=(1, 22),
        default_level=3,
        padding=0,
        decompressor=_zstd_decompressor,
        compressor=_zstd_compressor,
        errors=lambda: (_zstd().ZstdError,),
    ),
    Format(
        "bzip2",
        ".bz2",
        (b"BZh",),
        levels=(1, 9),
        default_level=9,
        padding=0,
        decompressor=lambda: _bz2().BZ2Decompressor(),
        compressor=lambda level: _bz2().BZ2Compressor(level),
        errors=lambda: (OSError, ValueError),
    ),
    Format(
        "xz",
        ".xz",
        (b"\xfd7zXZ\0",),
        levels=(0, 9),
        default_level=6,
        padding=4,
        decompressor=lambda: _lzma().LZMADecompressor(_lzma().FORMAT_XZ, _MOST_XZ_MEMORY),
        compressor=lambda level: _lzma().LZMACompressor(_lzma().FORMAT_XZ, preset=level),
        errors=lambda: (_lzma().LZMAError,),
    ),
)
