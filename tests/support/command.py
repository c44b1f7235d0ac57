"""The command ``selection``, run as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.process import SECONDS

SELECTION = [sys.executable, "-m", "selection"]


def run(
    *arguments: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SELECTION, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=60,
    )


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def picks(path: Path) -> list[str]:
    return [article["selected_extractor"] for article in json.loads(path.read_text())["articles"]]
