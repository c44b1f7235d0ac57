"""The commands that check and measure: ``doctor``, ``health`` and ``metrics``."""

from __future__ import annotations

import json

import click

from selection.cli.messages import log
from selection.cli.tables import console
from worker import health as health_check
from worker.checks.doctor import run_checks
from worker.cli import tables
from worker.cli.outcome import CHECK_FAILED, UNAVAILABLE
from worker.settings import Settings


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per check.")
def doctor(as_json: bool) -> int:
    """Check what can stop or lose batches, and say what to do.

    \b
    Example:
      selection-worker doctor
    """
    results = list(run_checks(Settings.from_environment()))
    if as_json:
        for result in results:
            click.echo(json.dumps(result.as_dict()))
    else:
        console().print(tables.check_table(results))
    return CHECK_FAILED if any(result.verdict == "error" for result in results) else 0


@click.command()
def health() -> int:
    """Exit with 0 if a worker on this host is alive.

    This is the health check of a worker's container.

    \b
    Example:
      selection-worker health
    """
    return health_check.main()


@click.command()
@click.option("--host", default="127.0.0.1", help="Address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=9109, help="Port; 9109 by default.")
def metrics(host: str, port: int) -> int:
    """Serve metrics for Prometheus; needs the extra 'monitoring'.

    \b
    Example:
      selection-worker metrics --port 9109
    """
    try:
        from worker.metrics import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prometheus_client":
            raise
        raise click.UsageError(
            "prometheus-client is missing; install the extra with: "
            "pip install 'deterministic-content-selection[monitoring]'"
        ) from None
    try:
        serve(Settings.from_environment(), host, port)
    except OSError as error:
        log(f"error: {host}:{port} cannot be used: {error.strerror}")
        return UNAVAILABLE
    return 0
