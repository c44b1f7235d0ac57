SHINGLE_TOKENS: int
TEXTS: int
REGIONS: int
PAGE_SIZE: int
ID_BYTES: int
IN_ITS_WORD: int
SEPARATOR: int
SPACE: int
KEY_BYTES: int

_Tokens = tuple[int, int, int]
_Regions = tuple[int, int, int, int, int, int, int, int]

def measure(one: str, two: str, three: str, keys: bytes, /) -> tuple[_Tokens, _Regions]: ...
def has_markup(text: str, /) -> bool: ...
