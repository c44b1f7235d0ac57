"""Run a click command with typed errors, signals and documented exit codes."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from selection.cli.messages import log, log_error
from selection.cli.printable import printable
from selection.errors import OutOfMemoryError, SelectionError
from selection.signals import end_at_once, handle

USAGE = 2
NO_INPUT = 66
CANNOT_WRITE = 74
BROKEN_PIPE = 128 + signal.SIGPIPE
INTERRUPTED = 128 + signal.SIGINT


def run(command: click.Command) -> NoReturn:
    """Run a command with the process's arguments and exit with a documented code.

    SIGTERM and SIGHUP raise an exception, so that open files are cleaned up. Ctrl-C and a closed
    pipe at standard output end the command silently.
    """
    handle(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        handle(number, _stop)
    _open_streams()
    try:
        code = _run(command)
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    end_at_once()
    _close_streams()
    sys.exit(code)


def _run(command: click.Command) -> int:
    """Run the command and return its exit code."""
    try:
        os.getcwd()
    except FileNotFoundError:
        log("error: the working directory does not exist; change to another")
        return NO_INPUT
    name = command.name or ""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    if request := os.environ.get(variable):
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, name, variable, request)
    try:
        # Command.main has its own exit code for a broken pipe.
        with command.make_context(command.name, sys.argv[1:]) as context:
            code: int | None = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        return BROKEN_PIPE
    except click.ClickException as error:
        # Click quotes arguments, which can have control characters. `message` is final only in
        # the types.
        lines = map(printable, error.message.split("\n"))
        error.message = "\n".join(lines)  # type: ignore[misc]
        error.show()
        return USAGE
    except SelectionError as error:
        log_error(error)
        return error.exit_code
    except MemoryError:
        log("error: out of memory")
        return OutOfMemoryError.exit_code
    except OSError as error:
        log(f"error: {error.filename or 'standard output'}: {error.strerror}")
        return CANNOT_WRITE
    return code or 0


def _close_streams() -> None:
    """Discard output that cannot be written, which would otherwise change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Make standard output and standard error writable, also if they are closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, open to the end
        # A character that the encoding lacks is escaped.
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
