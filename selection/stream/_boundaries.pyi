LIST_OPENED: int
LIST_CLOSED: int
ITEM_OPENED: int
ITEM_CLOSED: int
KIND_BITS: int
OUTSIDE: int
INSIDE: int
ESCAPED: int
IN_ROOT: int
IN_LIST: int

def find(
    data: bytes | bytearray, start: int, stop: int, depth: int, string: int, /
) -> tuple[list[int], int, int]: ...
def is_plain(data: bytes, /) -> bool: ...
