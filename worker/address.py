"""The address of the server, parsed strictly.

Any part of a malformed address can be a password, so no message quotes a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

_DEFAULT_PORT = 6379

# The options of redis-py that a queue can use; decode_responses, for example, breaks it.
_OPTIONS = frozenset(
    [
        *("db", "username", "password", "client_name", "protocol", "max_connections", "timeout"),
        *("socket_timeout", "socket_connect_timeout", "socket_keepalive", "retry_on_timeout"),
        *("health_check_interval", "ssl_keyfile", "ssl_certfile", "ssl_cert_reqs"),
        *("ssl_ca_certs", "ssl_ca_path", "ssl_check_hostname"),
    ]
)

_QUOTE = "in a password write / as %2F, # as %23, ? as %3F, [ as %5B and @ as %40"


class AddressError(ValueError):
    """The address cannot be used; the message names the variable and never the value."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the server and how to log in.

    Attributes:
        host, port: with ``redis://`` and ``rediss://``.
        socket: the path, with ``unix://``.
        db: the number of the database.
        username, password: as the server knows them.
        is_basic: True if these fields suffice to connect, without TLS or options of redis-py.
    """

    host: str = "localhost"
    port: int = _DEFAULT_PORT
    socket: str | None = None
    db: int = 0
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    is_basic: bool = True


def find_address(url: str | None, environment: Mapping[str, str]) -> Address:
    """Return the address that ``rq worker`` reads from the same environment.

    Args:
        url: the value of ``RQ_REDIS_URL``, or None.
        environment: the variables ``REDIS_URL``, ``REDIS_HOST``, ``REDIS_PORT`` and so on.

    Raises:
        AddressError: it cannot be used.
    """
    if url:
        return parse_url("RQ_REDIS_URL", url)
    if "REDIS_URL" in environment:
        return parse_url("REDIS_URL", environment["REDIS_URL"])
    host = environment.get("REDIS_HOST", "localhost")
    _require_host("REDIS_HOST", host)
    port = environment.get("REDIS_PORT", str(_DEFAULT_PORT))
    if "://" in port:
        raise AddressError(
            "REDIS_PORT is an address and must be a number; Kubernetes sets it for a service "
            "named redis; set RQ_REDIS_URL"
        )
    if not port.isascii() or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
        raise AddressError("REDIS_PORT must be a number from 1 to 65535")
    is_basic = environment.get("REDIS_SSL", "").lower() in ("", "n", "no", "f", "false")
    return Address(
        host=host,
        port=int(port),
        db=_database("REDIS_DB", environment.get("REDIS_DB", "0")),
        password=environment.get("REDIS_PASSWORD"),
        is_basic=is_basic,
    )


def parse_url(name: str, url: str) -> Address:
    """Parse the value of the variable ``name``.

    Raises:
        AddressError: it cannot be used.
    """
    _require_characters(name, url)
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in ("redis", "rediss", "unix"):
        raise AddressError(f"{name} must begin with redis://, rediss:// or unix://")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressError(
            f"{name} is malformed: the port must be a number from 1 to 65535, and {_QUOTE}"
        ) from None
    if parts.fragment or "#" in url or "@" in parts.path + parts.query:
        raise AddressError(f"{name} is malformed: {_QUOTE}")
    if port == 0:
        raise AddressError(f"{name}: the port must be a number from 1 to 65535")
    return _address(name, parts, port)


def _address(name: str, parts: SplitResult, port: int | None) -> Address:
    options = _options(name, parts.query)
    path, host = unquote(parts.path), unquote(parts.hostname or "localhost")
    username = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    for text in (path, host, username, password):
        _require_decoded(name, text or "")
    if parts.scheme == "unix":
        if not path:
            raise AddressError(f"{name} needs the path of a socket: unix:///path/to/socket")
        socket, database = path, options.get("db", "0")
    else:
        _require_host(name, host)
        socket, database = None, options.get("db") or path.strip("/") or "0"
    return Address(
        host=host,
        port=port or _DEFAULT_PORT,
        socket=socket,
        db=_database(f"the database in {name}", database),
        username=username or options.get("username"),
        password=password or options.get("password"),
        is_basic=parts.scheme != "rediss" and not set(options) - {"db", "username", "password"},
    )


def _options(name: str, query: str) -> dict[str, str]:
    options = {key: values[0] for key, values in parse_qs(query, keep_blank_values=True).items()}
    if set(options) - _OPTIONS:
        # The unknown option can be the rest of a password.
        raise AddressError(
            f"{name} has an option that is not supported, or a ? that must be written as %3F"
        )
    return options


def _database(name: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise AddressError(f"{name} must be a whole number from 0 up")
    return int(text)


def _require_characters(name: str, url: str) -> None:
    if url != url.strip():
        raise AddressError(f"{name} has a space or a line break at its beginning or end")
    if not all(char.isprintable() and not char.isspace() for char in url):
        raise AddressError(f"{name} has a space or a character that cannot be printed")


def _require_decoded(name: str, text: str) -> None:
    if "\0" in text:
        raise AddressError(f"{name} has a NUL character (%00)")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AddressError(f"{name} is not valid UTF-8") from None


def _require_host(name: str, host: str) -> None:
    try:
        if host and not any(char.isspace() or not char.isprintable() for char in host):
            host.encode("idna")
            return
    except UnicodeError:
        pass
    raise AddressError(f"{name} does not have a valid host name")
