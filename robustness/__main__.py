"""``python -m robustness [KIND...] [--long] [--json]``: inject faults and print the table."""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from robustness import (
    concurrent_writers,
    environments,
    file_attacks,
    fuzz,
    kill,
    queue_attacks,
    queue_soak,
    reading_attacks,
    storage_attacks,
)
from robustness.table import Table

KINDS: dict[str, Callable[[Table, bool, int], None]] = {
    "fuzz": fuzz.run,
    "kill": kill.run,
    "queue-soak": queue_soak.run,
    "queue-attacks": queue_attacks.run,
    "reading-attacks": reading_attacks.run,
    "concurrent-writers": concurrent_writers.run,
    "environments": environments.run,
    "file-attacks": file_attacks.run,
    "storage": storage_attacks.run,
}


# On two cores the short form takes some six minutes, the long one an hour or more.
_SECONDS, _SECONDS_FOR_LONG = 1500, 6 * 3600
_SEED = 1


def _give_up(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit("the robustness suite did not end in time")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m robustness", description=__doc__)
    parser.add_argument(
        "kinds", metavar="KIND", nargs="*", help=f"one or more of {', '.join(KINDS)}"
    )
    parser.add_argument("--long", action="store_true", help="the long form: an hour or more")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    parser.add_argument(
        "--seed",
        type=int,
        help=f"seed of all random choices; {_SEED}, or with --long a random one, which is logged",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - set(KINDS):
        parser.error(f"unknown kind: {', '.join(sorted(unknown))}")
    seed = arguments.seed
    if seed is None:
        # The short form checks a change, so that chance must not decide it.
        seed = random.randrange(1 << 32) if arguments.long else _SEED
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_SECONDS_FOR_LONG if arguments.long else _SECONDS)
    table = Table()
    table.log(f"seed {seed}")
    for kind in arguments.kinds or KINDS:
        KINDS[kind](table, arguments.long, seed)
    print(json.dumps(table.as_dict(), indent=2) if arguments.json else table)
    return 0 if table.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
