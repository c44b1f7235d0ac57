"""The command ``selection-worker``: its group of commands, and how errors end it."""

from __future__ import annotations

from typing import Any, NoReturn

import click
from redis.exceptions import RedisError

from selection.cli import runner
from selection.cli.messages import log, name_program
from worker.checks.server_checks import advice
from worker.cli import monitor, operate, submit
from worker.cli.outcome import UNAVAILABLE
from worker.cli.report import report
from worker.local_fleet import LocalError
from worker.settings import SettingsError

_EXIT_CODES = """
\b
Exit codes:
  0    done
  1    doctor: a check found an error; health: no worker is alive
  2    wrong usage
  65   a batch failed: its data is wrong (of several, the code of the first)
  66   a batch failed: its input cannot be read; or a job does not exist
  68   a batch failed: the endpoint of the object store is wrong
  69   the server cannot be reached or run here, or an extra is not installed
  73   a batch failed: its output cannot be made
  74   a batch failed: reading or writing failed
  77   a batch failed: the object store refuses the credentials
  130  stopped by Ctrl-C (143 by SIGTERM, 141 by a closed pipe)
"""


class _Group(click.Group):
    """Print errors of the settings and of the server as one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            log(f"error: {error}")
            return runner.USAGE
        except RedisError as error:
            log(f"error: {advice(error)}")
        except LocalError as error:
            log(f"error: {error}")
        return UNAVAILABLE


@click.group(
    cls=_Group, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="deterministic-content-selection", prog_name="selection-worker")
def selection_worker() -> None:
    """Enqueue batches, and operate the queue and its workers.

    Start workers with: rq worker selection. All settings are environment variables;
    RQ_REDIS_URL is the address of the server.

    \b
    Examples:
      selection-worker local river_plate_extracted.json
      selection-worker enqueue /data/*.json --wait
      selection-worker watch
    """


for _command in (
    *(submit.enqueue, operate.status, operate.watch, operate.retry, operate.cancel),
    *(operate.pause, operate.resume, monitor.doctor, submit.local, monitor.health),
    *(monitor.metrics, report),
):
    selection_worker.add_command(_command)


def main() -> NoReturn:
    """Run ``selection-worker`` with the process's arguments."""
    name_program("selection-worker")
    runner.run(selection_worker)
