"""A process pool whose results come in the order of the work, in bounded memory.

:mod:`concurrent.futures` is not used: its processes block forever when the process that started
them is killed (each has the other end of its own queue open), print a traceback if Ctrl-C arrives
while they start, and need POSIX semaphores, which some containers lack. Here each worker process
reads from a pipe of its own and ends when the pipe is closed.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Generic, TypeVar

from selection.errors import SelectionError, WorkerProcessError
from selection.parallel.worker_process import READY

Result = TypeVar("Result")
Payload = TypeVar("Payload")

# Two tasks per worker, so that it has one while the result of the other is transferred.
_TASKS_AHEAD = 2
# Bytes per process of all work whose results wait for their turn.
_WAITING_BYTES = 8 << 20
# So large that a task of offsets never fills the pipe of a busy worker.
_PIPE_BYTES = 1 << 20
_SECONDS_TO_END = 5.0


@dataclass(frozen=True, slots=True)
class Work(Generic[Result]):
    """A task for this process or a worker process.

    Attributes:
        function: the function for a worker process, importable there; None: only this process
            can do the work.
        args: its arguments, which are pickled.
        here: the function that does the same in this process.
        size: bytes that stay in memory until the result was used.
        is_small: whether the arguments fit into a pipe, so that a worker process that is still
            busy can get them.
    """

    function: Callable[..., Result] | None
    args: tuple[Any, ...]
    here: Callable[[], Result]
    size: int = 0
    is_small: bool = True


class _Task(Generic[Result]):
    """Work that was begun: its result, or the worker that does it."""

    def __init__(self, work: Work[Result]) -> None:
        self.work = work
        self.worker: _Worker | None = None
        self._result: Result | None = None
        self._error: SelectionError | None = None
        self._is_done = False

    def settle(self, is_right: bool, value: Any) -> None:
        self.worker = None
        self._is_done = True
        if is_right:
            self._result = value
        else:
            self._error = value

    def run_here(self) -> None:
        try:
            self.settle(True, self.work.here())
        except SelectionError as error:
            self.settle(False, error)

    def result(self) -> Result:
        """Return the result, after waiting for it.

        Raises:
            SelectionError: the work raised it, or its worker process ended early.
        """
        while self.worker is not None:
            self.worker.receive()
        if not self._is_done:
            self.run_here()  # its worker ended before it began
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class _Worker:
    """A worker process and the tasks that it has, in order."""

    def __init__(self) -> None:
        package = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        try:
            self._process = subprocess.Popen(
                # -P: a folder "selection" in the working directory must not be imported.
                [sys.executable, "-P", "-m", "selection.parallel.worker_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                bufsize=0,
                # Ctrl-C in a terminal reaches only the process that started it, which ends it.
                process_group=0,
            )
        except OSError as error:
            raise WorkerProcessError(
                f"a worker process cannot be started: {error.strerror}"
            ) from None
        assert self._process.stdin
        assert self._process.stdout
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self.results = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        _enlarge(self._requests.fileno())
        self._is_ready = False
        self.is_alive = True
        self._tasks: deque[_Task[Any]] = deque()

    def can_take(self, work: Work[Any]) -> bool:
        # A busy worker does not read. To wait for it while it waits for this process, which would
        # have to receive its result, is a deadlock.
        most = _TASKS_AHEAD if work.is_small else 1
        return self.is_alive and self._is_ready and len(self._tasks) < most

    def submit(self, task: _Task[Any]) -> None:
        request = pickle.dumps((task.work.function, task.work.args), pickle.HIGHEST_PROTOCOL)
        task.worker = self
        self._tasks.append(task)
        try:
            self._requests.send_bytes(request)
        except BrokenPipeError:
            self._on_end()

    def receive(self) -> None:
        """Wait for the next result and settle its task."""
        try:
            message = self.results.recv_bytes()
        except (EOFError, ConnectionResetError):
            self._on_end()
            return
        if self._is_ready:
            self._tasks.popleft().settle(*pickle.loads(message))
        elif message == READY:
            self._is_ready = True
        else:
            self._on_end()

    def _on_end(self) -> None:
        """Handle the early end of the process: its first task fails, the others were not begun."""
        self._process.kill()
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        error = WorkerProcessError(
            f"a worker process ended early, {how}; run again, and if the error persists, use one "
            "process (jobs)"
        )
        self.is_alive = False
        if not self._is_ready:
            raise error
        if self._tasks:
            self._tasks.popleft().settle(False, error)
        for task in self._tasks:
            task.worker = None
        self._tasks.clear()

    def terminate(self) -> None:
        self._process.terminate()

    def end(self) -> None:
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._requests.close()
        self.results.close()


class Pool:
    """A pool of this process and worker processes, which are started with the first work.

    Args:
        workers: number of processes besides this one.
    """

    def __init__(self, workers: int) -> None:
        self._count = workers
        self._workers: list[_Worker] = []
        # The tasks of the workers, and as many that are done and wait for their turn.
        self._most_waiting = 2 * _TASKS_AHEAD * workers
        self._most_bytes = _WAITING_BYTES * (workers + 1)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A worker that is writing an output removes its temporary file on SIGTERM.
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.end()

    def ordered(
        self, works: Iterable[tuple[Payload, Work[Result]]]
    ) -> Iterator[tuple[Payload, Callable[[], Result]]]:
        """Do the work and give the results in its order.

        If no worker is idle, this process does the work itself. Each result is given as a function
        that returns it or raises the SelectionError that the work raised.

        Raises:
            WorkerProcessError: a worker process cannot be started.
        """
        waiting: deque[tuple[Payload, _Task[Result]]] = deque()
        size = 0
        for payload, work in works:
            self._receive()
            task = _Task(work)
            idle = (worker for worker in self._workers if worker.can_take(work))
            if work.function is not None and (worker := next(idle, None)):
                worker.submit(task)
            else:
                task.run_here()
            waiting.append((payload, task))
            size += work.size
            while waiting and (
                waiting[0][1].worker is None
                or len(waiting) > self._most_waiting
                or size > self._most_bytes
            ):
                payload, task = waiting.popleft()
                size -= task.work.size
                yield payload, task.result
        for payload, task in waiting:
            yield payload, task.result

    def _receive(self) -> None:
        """Start missing workers and receive the results that have arrived."""
        self._workers += [_Worker() for _ in range(self._count - len(self._workers))]
        by_connection = {w.results: w for w in self._workers if w.is_alive}
        while ready := wait(list(by_connection), timeout=0):
            for connection in ready:
                worker = by_connection[connection]  # type: ignore[index]
                worker.receive()
                if not worker.is_alive:
                    del by_connection[connection]  # type: ignore[arg-type]


def _enlarge(pipe: int) -> None:
    # On a system that cannot, submitting can wait for the worker.
    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
