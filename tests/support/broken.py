"""Batches that are not valid, each with its error, and large or deep ones that are."""

from __future__ import annotations

from selection.errors import DataError, EncodingError, InvalidJsonError, NotANumberError

# The wrong value is always at byte 62, in line 4 at column 22, in article 0:
#   line 1    2 bytes: {\n
#   line 2   19 bytes: two spaces, "título" of 9, colon, space, "ñ" of 4, comma, \n
#   line 3   16 bytes: two spaces, "articles" of 10, colon, space, [, \n
#   line 4   25 bytes before it, 21 characters: é has two bytes and the emoji four
BEFORE = '{\n  "título": "ñ",\n  "articles": [\n    {"a": "é😀", "b": '.encode()
AFTER = b"},\n    {}\n  ]\n}\n"

#: A value in place of one, its error, and the offset in the value of the first byte with which
#: the file cannot be JSON any more.
WRONG_VALUES: dict[str, tuple[bytes, type[DataError], int]] = {
    "NaN": (b"NaN", NotANumberError, 0),
    "-NaN": (b"-NaN", NotANumberError, 0),
    "Infinity": (b"Infinity", NotANumberError, 0),
    "-Infinity": (b"-Infinity", NotANumberError, 0),
    "nan": (b"nan", InvalidJsonError, 1),
    "None": (b"None", InvalidJsonError, 0),
    "True": (b"True", InvalidJsonError, 0),
    "half a literal": (b"tru", InvalidJsonError, 3),
    "undefined": (b"undefined", InvalidJsonError, 0),
    "single quotes": (b"'x'", InvalidJsonError, 0),
    "leading zero": (b"01", InvalidJsonError, 1),
    "plus sign": (b"+1", InvalidJsonError, 0),
    "no digit before the point": (b".5", InvalidJsonError, 0),
    "no digit after the point": (b"1.", InvalidJsonError, 2),
    "no digit in the exponent": (b"1e", InvalidJsonError, 2),
    "no digit after the minus": (b"-", InvalidJsonError, 1),
    "hexadecimal": (b"0x1F", InvalidJsonError, 1),
    "underscore in a number": (b"1_000", InvalidJsonError, 1),
    "letter in a long number": (b"9" * 5000 + b"x", InvalidJsonError, 5000),
    "two signs, long number": (b"--" + b"9" * 5000, InvalidJsonError, 1),
    "two signs, two long numbers": (
        b"[" + b"9" * 5000 + b",--" + b"9" * 5000 + b"]",
        InvalidJsonError,
        5003,
    ),
    "long number cut off": (b"9" * 5000 + b".}", InvalidJsonError, 5001),
    "after a long one": (b"[" + b"9" * 5000 + b", NaN", NotANumberError, 5003),
    "unknown escape": (b'"\\x41"', InvalidJsonError, 2),
    "escape that is not hexadecimal": (b'"\\u12g4"', InvalidJsonError, 5),
    "half an escape": (b'"\\ud83d\\u1"', InvalidJsonError, 10),
    "line break in a string": (b'"a\nb"', InvalidJsonError, 2),
    "tab in a string": (b'"a\tb"', InvalidJsonError, 2),
    "NUL in a string": (b'"a\0b"', InvalidJsonError, 2),
    "comma at the end of a list": (b"[1,]", InvalidJsonError, 3),
    "comma at the end of an object": (b'{"a": 1,}', InvalidJsonError, 8),
    "no comma": (b"[1 2]", InvalidJsonError, 3),
    "no colon": (b'{"a" 1}', InvalidJsonError, 5),
    "number as a key": (b"{1: 2}", InvalidJsonError, 1),
    "wrong bracket": (b"[1}", InvalidJsonError, 2),
    "comment": (b"/* c */ 1", InvalidJsonError, 0),
    "no value": (b"", InvalidJsonError, 0),
    "vertical tab": (b"\x0b1", InvalidJsonError, 0),
    "form feed": (b"1\x0c", InvalidJsonError, 1),
    "no-break space": (b"\xc2\xa01", InvalidJsonError, 0),
    "Latin-1": (b'"\xe9t\xe9"', EncodingError, 1),
    "0xff": (b'"ab\xff"', EncodingError, 3),
    "half a character": (b'"\xc3("', EncodingError, 1),
    "three quarters of a character": (b'"\xf0\x9f\x98"', EncodingError, 1),
    "a surrogate in UTF-8": (b'"\xed\xa0\xbd"', EncodingError, 1),
    "an overlong character": (b'"\xc0\xaf"', EncodingError, 1),
    "beyond Unicode": (b'"\xf4\x90\x80\x80"', EncodingError, 1),
    "Latin-1 in a key": (b'{"\xe9": 1}', EncodingError, 2),
}

# A character of two bytes, so that more than the mark, if any, is invalid UTF-8.
_TEXT = '{"é": 1, "articles": []}'
OTHER_ENCODINGS = {
    "UTF-16 LE": _TEXT.encode("utf-16-le"),
    "UTF-16 BE": _TEXT.encode("utf-16-be"),
    "UTF-16 LE with its mark": b"\xff\xfe" + _TEXT.encode("utf-16-le"),
    "UTF-16 BE with its mark": b"\xfe\xff" + _TEXT.encode("utf-16-be"),
    "UTF-32 LE": _TEXT.encode("utf-32-le"),
    "UTF-32 BE": _TEXT.encode("utf-32-be"),
    "UTF-32 LE with its mark": b"\xff\xfe\0\0" + _TEXT.encode("utf-32-le"),
    "UTF-32 BE with its mark": b"\0\0\xfe\xff" + _TEXT.encode("utf-32-be"),
}

# Something of every kind: escapes, a character of two bytes, numbers, literals, nesting.
VALID = (
    '{"n":[-1.5e3,{"x":true}],"articles":[{"newspaper4k":{"text":"a\\u00e9\\n"}, "id":null},'
    '7,{"\u00e9":{}}]}'
).encode()


def broken_batches() -> dict[str, bytes]:
    """Return batches that are not valid, by name."""
    whole = {
        "empty": b"",
        "space": b" ",
        "only a mark": b"\xef\xbb\xbf",
        "cut off": BEFORE,
        "a root that is a list": b"\n []",
        "no articles": b'{"Articles": []}',
        "articles is an object": b'{"x":[],\n"articles":\t{}}',
        "the second articles is a number": b'{"articles":[{}],"articles":5}',
        "data behind the root": b'{"articles": []}\n{}',
        "NUL bytes": b"\0" * 5000,
        "HTML": b"\r\n <!DOCTYPE html><title>404</title>",
        "behind a whole read": b'{"articles": [{"a": "' + b"x" * 599_976 + b'",\n  b"}]}',
    }
    values = {name: BEFORE + value + AFTER for name, (value, _, _) in WRONG_VALUES.items()}
    cuts = {f"the first {size} bytes": VALID[:size] for size in range(1, len(VALID), 7)}
    return {**whole, **values, **OTHER_ENCODINGS, **cuts}


def hostile_batches() -> dict[str, bytes]:
    """Return valid batches that are costly to read in a simple way, by name."""
    prose = b'{"newspaper4k": {"text": "one two three four five six"}}'
    inside = {
        "depth": b'{"x": ' + b"[" * 900 + b"]" * 900 + b"}",
        "a long number": b'{"x": ' + b"7" * 300_000 + b"}",
        "a long string": b'{"x": "' + b"\\u0041\\ud83d" * 50_000 + b'"}',
        "a long key": b'{"' + b"k" * 300_000 + b'": 1}',
        "the same key": b'{"x": 1' + b', "newspaper4k": {"text": "a b"}' * 5_000 + b"}",
        "the same member": b'{"x": 1' + b', "selected_extractor": 1' * 5_000 + b"}",
        "brackets in a text": b'{"newspaper4k": {"text": "' + b"}{][" * 50_000 + b'"}}',
    }
    found = {
        name: b'{"articles": [' + prose + b", " + article + b"]}"
        for name, article in inside.items()
    }
    found["white space"] = b'{"articles": [' + b" \n" * 200_000 + prose
    found["white space"] += b"\t" * 300_000 + b"]}"
    found["empty articles"] = b'{"articles": [' + b"{}," * 5_000 + b"{}]}"
    found["items that are not objects"] = b'{"articles": [' + b"1,[]," * 5_000 + b"null]}"
    return found
