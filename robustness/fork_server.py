"""A fork server: for each request a child process selects a batch with one fault.

``preload.c`` is loaded into it. A request and its response are one line of JSON each. A child
costs a few milliseconds, a new interpreter some hundred.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback
from typing import Any

from selection import SelectionError, select_file
from selection.storage import output

SECONDS = 30


def select_with_fault(request: dict[str, Any]) -> dict[str, Any]:
    """Run once, in the child; return how the run ended and which calls it made."""
    shim = ctypes.CDLL(None)
    shim.faults_name.restype = ctypes.c_char_p
    if request["piece"]:
        # Small pieces simulate a larger batch: there are more calls that can fail.
        output._BUFFER = request["piece"]
    response: dict[str, Any] = {"ended": "ok"}
    before = len(os.listdir("/proc/self/fd"))
    shim.faults_arm(request["folder"].encode(), request["at"], request["what"], request["errno"])
    try:
        select_file(
            request["input"],
            request["output"],
            roots=[request["folder"]],
            read_size=request["piece"] or 1 << 18,
        )
    except SelectionError as error:
        response = {"ended": "typed", "retryable": error.retryable, **error.as_dict()}
    except BaseException:
        response = {"ended": "untyped", "message": traceback.format_exc()}
    number = shim.faults_disarm()
    response["calls"] = [shim.faults_name(call + 1).decode() for call in range(number)]
    response["descriptors"] = len(os.listdir("/proc/self/fd")) - before
    return response


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Run a request in a child and wait for it; kill a child that does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with open(writer, "w") as pipe:
            json.dump(select_with_fault(request), pipe)
        os._exit(0)
    os.close(writer)
    end = time.monotonic() + SECONDS
    text = b""
    with open(reader, "rb", buffering=0) as pipe_in:
        while select.select([pipe_in], [], [], max(0, end - time.monotonic()))[0]:
            piece = pipe_in.read(1 << 16)
            if not piece:
                _, status = os.waitpid(child, 0)
                if text:
                    result: dict[str, Any] = json.loads(text)
                    return result
                return {"ended": "killed" if os.WIFSIGNALED(status) else "crashed"}
            text += piece
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return {"ended": "stuck"}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(respond(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
