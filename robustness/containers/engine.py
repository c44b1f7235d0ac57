"""A private Docker engine with all files in one folder, which does not change the host.

It runs without firewall rules and without forwarding: containers reach each other and the host
reaches their published ports, while a build uses the host's network.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_TOOLS = ("dockerd", "docker", "docker-init", "debootstrap", "apt-get", "dpkg-deb")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_OPTIONS = (
    *("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
    "--bridge=none",
)
MIRROR = os.environ.get("MIRROR", "http://deb.debian.org/debian")


class SkipError(Exception):
    """The engine cannot be started here; the message says why."""


class Engine:
    """Runs commands against the engine; their output goes to one log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.environment = {
            **os.environ,
            "DOCKER_HOST": f"unix://{folder}/docker.sock",
            "DOCKER_CONFIG": f"{folder}/client",
            "DOCKER_BUILDKIT": "1",
        }
        self.environment.pop("DOCKER_CONTEXT", None)

    def run(
        self, *command: str, seconds: float = 600, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with any exit code and log its output."""
        done = subprocess.run(
            command,
            env={**self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}= {done.returncode}\n")
        return done

    def need(self, *command: str, seconds: float = 900) -> str:
        """Run a command that must succeed; return its output.

        Raises:
            SkipError: it failed.
        """
        done = self.run(*command, seconds=seconds)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise SkipError(f"{' '.join(command[:3])} failed: {''.join(last)}")
        return done.stdout


def _require_host() -> None:
    if platform.system() != "Linux" or os.getuid() != 0:
        raise SkipError("an engine of its own needs Linux and root")
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        raise SkipError(
            f"{', '.join(missing)} not found; on Debian: apt-get install docker.io debootstrap"
        )
    if not _KEYRING.exists():
        raise SkipError(f"{_KEYRING} not found; the images are made from Debian's packages")


@contextmanager
def running_engine(folder: Path) -> Iterator[Engine]:
    """Start an engine and stop it afterwards.

    Raises:
        SkipError: that cannot be done here.
    """
    _require_host()
    engine = Engine(folder)
    _install_plugins(engine)
    with (folder / "engine.log").open("w") as log:
        process = subprocess.Popen(
            [
                *("dockerd", *_OPTIONS, "--host", engine.environment["DOCKER_HOST"]),
                *("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"),
                *("--pidfile", f"{folder}/engine.pid"),
            ],
            stdout=log,
            stderr=log,
        )
    try:
        _wait_until_it_answers(engine, process)
        yield engine
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
        _unmount(folder)


def _wait_until_it_answers(engine: Engine, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while engine.run("docker", "version").returncode:
        if process.poll() is not None or time.monotonic() > end:
            lines = (engine.folder / "engine.log").read_text().splitlines()
            raise SkipError(f"the engine does not start: {''.join(lines[-1:])}")
        time.sleep(0.5)


def _install_plugins(engine: Engine) -> None:
    """Install `docker compose` from Debian's packages unless it is installed."""
    plugins = engine.folder / "client" / "cli-plugins"
    plugins.mkdir(parents=True)
    if engine.run("docker", "compose", "version").returncode == 0:
        return
    for name in ("lists/partial", "cache/archives/partial"):
        (engine.folder / "apt" / name).mkdir(parents=True)
    sources = engine.folder / "apt" / "sources.list"
    sources.write_text(f"deb [signed-by={_KEYRING}] {MIRROR} trixie main\n")
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={sources}"]
    for name, value in (
        ("Dir::Etc::sourceparts", "/nonexistent"),
        ("Dir::State::lists", f"{engine.folder}/apt/lists"),
        ("Dir::Cache", f"{engine.folder}/apt/cache"),
        ("APT::Sandbox::User", "root"),
    ):
        apt += ["-o", f"{name}={value}"]
    engine.need(*apt, "update")
    engine.need(*apt, "download", "docker-compose", "docker-buildx")
    for package in engine.folder.glob("docker-*.deb"):
        engine.need("dpkg-deb", "-x", str(package), f"{engine.folder}/unpacked")
    for plugin in (engine.folder / "unpacked/usr/libexec/docker/cli-plugins").iterdir():
        shutil.move(plugin, plugins)
    engine.need("docker", "compose", "version")


def _unmount(folder: Path) -> None:
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((p for p in places if p.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", place], timeout=60)


def python_prefix(command: Sequence[str] = ("python3.13",)) -> Path:
    """Return the prefix of a Python 3.13 that was built from source and can be copied.

    Raises:
        SkipError: there is none.
    """
    candidates = [os.environ.get("PYTHON_PREFIX", ""), *_prefixes(command)]
    for candidate in filter(None, candidates):
        if candidate != "/usr" and (Path(candidate) / "bin" / "python3.13").exists():
            return Path(candidate)
    raise SkipError("set PYTHON_PREFIX to a Python 3.13 that was built from source")


def _prefixes(command: Sequence[str]) -> Iterator[str]:
    if sys.version_info[:2] == (3, 13):
        yield sys.base_prefix
    code = "import sys; print(sys.base_prefix)"
    if shutil.which(command[0]):
        done = subprocess.run([*command, "-c", code], capture_output=True, text=True, timeout=60)
        yield done.stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/3.13.*")))
