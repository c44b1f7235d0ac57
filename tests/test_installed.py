"""The package where it is installed: beside files of the same names, and from its archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support import batches
from tests.support.queue_server import Server, Workers
from worker import enqueue

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("rq")


def test_a_folder_with_a_worker_py_of_its_own_does_not_disturb_a_worker(
    server: Server, workers: Workers, tmp_path: Path
) -> None:
    for name in ("worker", "selection", "queue", "json", "redis"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is the wrong module')\n")
    path = batches.write(tmp_path / "batch.json", [batches.picks_newspaper4k()])
    job = enqueue(path, connection=server.client(), settings=workers.settings)
    done = subprocess.run(
        [COMMAND, "worker", "--burst", "selection"],
        env=workers.environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "the wrong module" not in done.stdout + done.stderr
    assert job.get_status(refresh=True) == "finished"
    assert (tmp_path / "batch_selected.json").exists()


# What a checkout has, and so must an archive.
PARTS = [
    *(".ci", "benchmarks", "docs", "examples", "robustness", "selection", "tests", "worker"),
    *(".dockerignore", ".env.example", ".gitignore", "CHANGELOG.md", "Makefile", "README.md"),
    *("MANIFEST.in", "docker-compose.yml", "pyproject.toml", "setup.py"),
]
MADE = shutil.ignore_patterns(
    *("__pycache__", "*.so", "*_selected.json", "*_report.html", ".*.tmp", ".hypothesis")
)


@pytest.mark.slow
def test_the_source_archive_has_what_its_tests_need(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, checkout / part, ignore=MADE)
        else:
            shutil.copy(ROOT / part, checkout)
    expected = files_of(checkout)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--sdist",
            "--no-isolation",
            "--outdir",
            tmp_path,
            checkout,
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    assert expected - files_of(unpacked) == set()
    # -c: not the settings of a folder above.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml", "tests/test_rules.py"],
        cwd=unpacked,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    # And what it tested is the archive's.
    where = subprocess.run(
        [sys.executable, "-c", "import selection; print(selection.__file__)"],
        cwd=unpacked,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert where.stdout.strip() == str(unpacked / "selection" / "__init__.py")


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
