"""A process that selects a batch in a child for every order it reads, with one fault in it.

It has ``preload.c`` loaded. An order and its answer are one line of JSON each. A child costs
a few milliseconds, where a new interpreter would cost some hundred.
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


def select_with_fault(order: dict[str, Any]) -> dict[str, Any]:
    """One run, in the child: how it ended and which calls it made."""
    shim = ctypes.CDLL(None)
    shim.faults_name.restype = ctypes.c_char_p
    if order["piece"]:
        # As if the batch were as many times larger: more calls to fail at.
        output._BUFFER = order["piece"]
    answer: dict[str, Any] = {"ended": "well"}
    before = len(os.listdir("/proc/self/fd"))
    shim.faults_arm(order["folder"].encode(), order["at"], order["what"], order["errno"])
    try:
        select_file(
            order["input"],
            order["output"],
            roots=[order["folder"]],
            read_size=order["piece"] or 1 << 18,
        )
    except SelectionError as error:
        answer = {"ended": "typed", "retryable": error.retryable, **error.as_dict()}
    except BaseException:
        answer = {"ended": "untyped", "message": traceback.format_exc()}
    number = shim.faults_disarm()
    answer["calls"] = [shim.faults_name(call + 1).decode() for call in range(number)]
    answer["descriptors"] = len(os.listdir("/proc/self/fd")) - before
    return answer


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """Run it in a child and wait for that; a child that does not end is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with open(writer, "w") as pipe:
            json.dump(select_with_fault(order), pipe)
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
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
