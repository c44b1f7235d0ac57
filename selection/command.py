"""Run a click command the way a person and a shell expect it to end."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from selection.errors import SelectionError
from selection.show import log, log_error

USAGE = 2
BROKEN_PIPE = 128 + signal.SIGPIPE
INTERRUPTED = 128 + signal.SIGINT


def run(command: click.Command) -> NoReturn:
    """Run a command with the process's arguments and exit with a documented code.

    A signal to stop ends in an exception, so that whatever is open is cleaned up; a reader
    of standard output that went away and Ctrl-C end without a word.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks is shown escaped.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        # Command.main would end with its own code for a broken pipe.
        with command.make_context(command.name, sys.argv[1:]) as context:
            code = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        code = end.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # Otherwise the interpreter flushes into the broken pipe once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except click.ClickException as error:
        error.show()
        code = USAGE
    except SelectionError as error:
        log_error(error)
        code = error.exit_code
    except OSError as error:
        log(f"error: standard output: {error.strerror}")
        code = 74
    sys.exit(code or 0)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
