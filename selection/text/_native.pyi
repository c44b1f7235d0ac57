KEY_BYTES: int

_Tokens = tuple[int, int, int]
_Regions = tuple[int, int, int, int, int, int, int, int]

def measure(one: str, two: str, three: str, keys: bytes, /) -> tuple[_Tokens, _Regions]: ...
def has_markup(text: str, /) -> bool: ...
