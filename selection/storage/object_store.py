"""Connections to object stores, and what their failures mean.

`obstore <https://developmentseed.org/obstore/>`_ is imported when the first store is opened; a run
on local files does not import it. Its calls cannot be interrupted by a signal, so each runs in
a thread of its own (:func:`start`), and the caller waits for the result. Its threads do not
exist in a process that is forked after the first call; such a process is refused, since it
would wait for ever. A work-horse of RQ is forked from a worker that has opened no store.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, ParamSpec, TypeVar
from urllib.parse import urlsplit

from selection.errors import CredentialsError, EndpointError, ExtraMissingError, SelectionError
from selection.storage.object_address import Address

if TYPE_CHECKING:
    from obstore.store import AzureStore, ClientConfig, GCSConfig, GCSStore, RetryConfig, S3Store

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Some 5 s of waits between the tries of one request, and a minute for all of them.
_RETRIES: RetryConfig = {
    "max_retries": 6,
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=3),
        "base": 2,
    },
    "retry_timeout": timedelta(seconds=60),
}
_GRACE = 5  # seconds for a request that is not needed any more


_opened: set[int] = set()  # processes: this one, and those from which it was forked


class Fault(Enum):
    """What a failed request means."""

    MISSING_OBJECT = auto()
    MISSING_BUCKET = auto()
    DENIED = auto()
    CREDENTIALS = auto()
    ENDPOINT = auto()
    CHANGED = auto()
    TRANSIENT = auto()
    FINAL = auto()


_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_CREDENTIAL_CODES = re.compile(
    "InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|TokenRefreshRequired"
    "|AuthorizationHeaderMalformed|RequestTimeTooSkewed|AuthenticationFailed"
    "|InvalidAuthenticationInfo|InvalidSecurity"
)
# Azure's message of a wrong key. Azurite sends it with another code, AuthorizationFailure, which is
# that of a refusal by the network rules of Azure.
_NOT_AUTHENTICATED = "Server failed to authenticate the request"
# The addresses at which a machine of a cloud asks for its credentials.
_CREDENTIAL_SERVICES = re.compile(
    r"/latest/(?:api/token|meta-data)|computeMetadata|metadata/identity|oauth2|sts\.|credential",
    re.IGNORECASE,
)
_RETRIED = {408, 425, 429}
# A name server that does not answer is another failure, which is transient.
_NO_HOST = re.compile(r"Name or service not known|nodename nor servname|No address associated")
_S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_AZURE_ENDPOINTS = ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_GOOGLE_ENDPOINT = "STORAGE_EMULATOR_HOST"  # of Google's own clients


def fault_of(error: Exception) -> tuple[Fault, str]:
    """Return what a failed request means and a few words on it.

    The library's own message has the server's answer, with names and signatures of requests;
    of that only the status and the code of the error are kept.

    Raises:
        Exception: the error itself, if it is not one of a request.
    """
    if not (isinstance(error, OSError) or type(error).__module__.startswith("obstore")):
        raise error
    first = str(error).partition("Debug source:")[0]
    status = int(found[1]) if (found := _STATUS.search(first)) else None
    code = found[1] if (found := _CODE.search(first)) else ""
    words = f"{status or ''} {code}".strip()
    if status == 412:
        return Fault.CHANGED, words
    if status == 401 or _CREDENTIAL_CODES.fullmatch(code) or _NOT_AUTHENTICATED in first:
        return Fault.CREDENTIALS, words
    if status == 403:
        return Fault.DENIED, words
    if status == 404:
        fault = Fault.MISSING_BUCKET if code in _NO_BUCKET else Fault.MISSING_OBJECT
        # An upload that does not exist any more was aborted by another run.
        return (Fault.TRANSIENT if code == "NoSuchUpload" else fault), words
    if status is not None:
        is_transient = status >= 500 or status in _RETRIED
        return (Fault.TRANSIENT if is_transient else Fault.FINAL), words
    return _fault_without_status(error, first)


def _fault_without_status(error: Exception, text: str) -> tuple[Fault, str]:
    if _CREDENTIAL_SERVICES.search(text):
        return Fault.CREDENTIALS, "none were found"
    if _NO_HOST.search(str(error)):
        return Fault.ENDPOINT, "its host does not exist"
    if "redirect without LOCATION" in text:
        return Fault.FINAL, "the bucket is in another region; set AWS_REGION"
    if isinstance(error, FileNotFoundError):
        return Fault.MISSING_OBJECT, ""
    return Fault.TRANSIENT, "the connection failed or timed out"


def setup_error(fault: Fault, words: str, path: str) -> SelectionError | None:
    """Return the error of a wrong environment variable, None for another failure."""
    if fault is Fault.CREDENTIALS:
        return CredentialsError(
            f"the object store refuses the credentials ({words or 'no reason given'}); check the "
            "environment variables of the store (AWS_*, GOOGLE_*, AZURE_*)",
            path=path,
        )
    if fault is Fault.ENDPOINT:
        return EndpointError(
            f"the endpoint of the object store is wrong: {words}; check the environment variables "
            f"of the store (AWS_ENDPOINT_URL, {_GOOGLE_ENDPOINT}, AZURE_STORAGE_ENDPOINT)",
            path=path,
        )
    return None


def open_store(address: Address) -> S3Store | GCSStore | AzureStore:
    """Return a connection to the store of an address, set up by the environment.

    Raises:
        ExtraMissingError: the library is not installed.
        CredentialsError: the environment does not say enough.
        EndpointError: its endpoint is not a URL.
        RuntimeError: this process was forked from one that had opened a store.
    """
    _opened.add(os.getpid())
    if len(_opened) > 1:
        raise RuntimeError(
            "object storage was used before this process was forked; start it with spawn"
        )
    try:
        from obstore import store
    except ImportError:
        raise ExtraMissingError(
            "object storage needs the extra 'object-store': "
            "pip install 'deterministic-content-selection[object-store]'",
            path=str(address),
        ) from None
    try:
        if address.scheme == "s3":
            return open_s3(address.bucket, bucket_url(address.bucket))
        if address.scheme == "gs":
            return _open_google(address.bucket)
        endpoint = _endpoint(_AZURE_ENDPOINTS, os.environ) or ""
        options = _options(allow_http=endpoint.startswith("http://"))
        return store.AzureStore(address.bucket, client_options=options, retry_config=_RETRIES)
    except _EndpointValueError as error:
        raise EndpointError(str(error), path=str(address)) from None
    except Exception:
        # The library's message can have the value of a variable.
        raise CredentialsError(
            "the environment variables of this object store are incomplete or wrong",
            path=str(address),
        ) from None


def open_s3(bucket: str, url: str) -> S3Store:
    """Return a connection whose requests go to a URL and, after a "/", their key."""
    from obstore.store import S3Store

    return S3Store(
        bucket,
        config={
            "endpoint": url,
            # The library prefers the variable AWS_ENDPOINT_URL_S3, which bucket_url has read.
            "aws_endpoint_url_s3": url,
            "virtual_hosted_style_request": True,  # the URL is the bucket's
            "disable_bulk_delete": True,
        },
        client_options=_options(allow_http=url.startswith("http://")),
        retry_config=_RETRIES,
    )


def _open_google(bucket: str) -> GCSStore:
    from obstore.store import GCSStore

    config: GCSConfig = {}
    emulator = _endpoint((_GOOGLE_ENDPOINT,), os.environ)
    if emulator is not None:
        # What the library reads of a service account, without a key to sign with.
        account = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        account |= {"gcs_base_url": emulator.rstrip("/")}
        config["service_account_key"] = json.dumps({**account, "disable_oauth": True})
    options = _options(allow_http=(emulator or "").startswith("http://"))
    return GCSStore(bucket, config=config, client_options=options, retry_config=_RETRIES)


def bucket_url(bucket: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the URL of a bucket of S3, by the variables that the tools of AWS read, too.

    Raises:
        ValueError: an endpoint is not a URL; the message does not have it.
    """
    endpoint = _endpoint(_S3_ENDPOINTS, environment)
    if endpoint is None:
        region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
        endpoint = f"https://s3.{region or 'us-east-1'}.amazonaws.com"
    elif environment.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() == "true":
        return endpoint.rstrip("/")
    return f"{endpoint.rstrip('/')}/{bucket}"


def is_same_object(one: Address, other: Address) -> bool:
    """Return whether two addresses mean one object here.

    If the endpoint is the URL of a bucket, every name of a bucket means that one.

    Raises:
        ValueError: as :func:`bucket_url`.
    """
    if (one.scheme, one.key) != (other.scheme, other.key):
        return False
    if one.bucket == other.bucket:
        return True
    return one.scheme == "s3" and bucket_url(one.bucket) == bucket_url(other.bucket)


class _EndpointValueError(ValueError):
    pass


def _endpoint(names: tuple[str, ...], environment: Mapping[str, str]) -> str | None:
    """Return the first endpoint that is set, which the library does not check."""
    name = next((name for name in names if environment.get(name)), None)
    if name is None:
        return None
    endpoint = environment[name]
    try:
        parts = urlsplit(endpoint)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    # The value can have a password.
    if not is_url or re.search(r"[\s@?#\\]", endpoint) or not endpoint.isascii():
        raise _EndpointValueError(
            f"the environment variable {name} is not the URL of an object store; write "
            "https://HOST or https://HOST:PORT, without credentials"
        )
    return endpoint


def _options(allow_http: bool = False) -> ClientConfig:
    options: ClientConfig = {
        "connect_timeout": timedelta(seconds=5),
        "read_timeout": timedelta(seconds=20),
        "timeout": timedelta(seconds=120),
    }
    return options | {"allow_http": True} if allow_http else options


def start(function: Callable[_P, _T], *args: _P.args, **others: _P.kwargs) -> Future[_T]:
    """Call a function in a thread, so that a signal interrupts the wait for its result."""
    future: Future[_T] = Future()

    def call() -> None:
        try:
            result = function(*args, **others)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    # A daemon: a request that hangs does not keep the process.
    threading.Thread(target=call, name="object store", daemon=True).start()
    return future


def result_of(future: Future[_T]) -> _T:
    """Wait for a request and return its result; a signal interrupts the wait."""
    # Python does not notice a signal that arrives as a wait begins before that wait ends.
    while not wait([future], 1).done:
        pass
    return future.result()


def leave(future: Future[_T] | None) -> None:
    """Give a request that is not needed any more a few seconds to end."""
    with suppress(Exception):
        wait([future] if future else [], _GRACE)
