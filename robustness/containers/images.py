"""Replacements for the images that docker-compose.yml names, without a registry.

Both are Debian trixie. Python is copied from this machine to /usr/local, without bytecode as in
the original; the server is Debian's valkey-server with the original's user and folder.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from robustness.containers.engine import MIRROR, Engine, python_prefix

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_LIBRARIES = (
    "ca-certificates netbase tzdata libssl3t64 libffi8 libsqlite3-0 zlib1g libbz2-1.0 liblzma5 "
    "libreadline8t64 libncursesw6 libuuid1 libexpat1"
)
_INSTALL = "apt-get install --yes --no-install-recommends"

_PYTHON = f"""\
FROM stand-in:trixie
RUN apt-get update && {_INSTALL} {_LIBRARIES}
COPY certificates.crt {_CERTIFICATES}
ADD python.tar /usr/local/
RUN ln -sf python3.13 /usr/local/bin/python3 && ln -sf python3.13 /usr/local/bin/python \\
    && printf '#!/bin/sh\\nexec python -m pip "$@"\\n' > /usr/local/bin/pip \\
    && chmod 755 /usr/local/bin/pip && ldconfig \\
    && printf '[global]\\ncert = {_CERTIFICATES}\\n' > /etc/pip.conf
CMD ["python3"]
"""

_VALKEY = f"""\
FROM stand-in:trixie
RUN groupadd --gid 1000 valkey && useradd --system --uid 999 --gid valkey valkey \\
    && install -d -o valkey -g valkey -m 1777 /data
RUN apt-get update && {_INSTALL} valkey-server valkey-tools
WORKDIR /data
CMD ["valkey-server"]
"""


def make(engine: Engine) -> None:
    """Make the images with the names that the compose file and the Dockerfile use.

    Raises:
        SkipError: a package or a Python that is needed is not available.
    """
    prefix = python_prefix()
    root = engine.folder / "root"
    engine.need("debootstrap", "--variant=minbase", "trixie", str(root), MIRROR)
    archive = engine.folder / "root.tar"
    engine.need("tar", "-C", str(root), "--numeric-owner", "-cf", str(archive), ".")
    engine.need("docker", "import", str(archive), "stand-in:trixie")
    shutil.rmtree(root)
    archive.unlink()
    python = _context(engine, "python", _PYTHON)
    if _CERTIFICATES.exists():
        shutil.copy(_CERTIFICATES, python / "certificates.crt")
    else:
        (python / "certificates.crt").touch()
    excluded = ("__pycache__", "lib/python3.13/test", "*.a", "bin/pip*")
    options = [f"--exclude={pattern}" for pattern in excluded]
    tar = str(python / "python.tar")
    subprocess.run(
        ["tar", "-C", str(prefix), *options, "-cf", tar, "bin", "include", "lib"],
        check=True,
        timeout=300,
    )
    _build(engine, python, "python:3.13-slim")
    _build(engine, _context(engine, "valkey", _VALKEY), "valkey/valkey:8.1-alpine")


def _context(engine: Engine, name: str, dockerfile: str) -> Path:
    folder = engine.folder / name
    folder.mkdir()
    (folder / "Dockerfile").write_text(dockerfile)
    return folder


def _build(engine: Engine, folder: Path, tag: str) -> None:
    engine.need("docker", "build", "--network", "host", "--tag", tag, str(folder))
