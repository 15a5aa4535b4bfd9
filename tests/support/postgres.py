"""A PostgreSQL server of the tests' own, in a temporary folder, as a user that is not root."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

PASSWORD = "canary-p%w0rd@/:"
"""Of the role that the tests log in as; no message may show it."""

_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/local/pgsql/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
_START_SECONDS = 300.0
_ENDS_WITH_THE_TESTS = ["setpriv", "--pdeathsig=QUIT", "--"] if shutil.which("setpriv") else []
_HELD = tempfile.TemporaryDirectory(prefix="releasegate-pg-empty-")
_EMPTY = Path(_HELD.name)


@dataclass
class Server:
    """A server that runs; reached by a socket in its folder."""

    folder: Path
    _begin: "Callable[[], subprocess.Popen[bytes]]"
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, and wait until it answers; after a kill what is left of its processes may have to end first."""
        end = time.monotonic() + _START_SECONDS
        while True:
            if self._process is None or self._process.poll() is not None:
                self._process = self._begin()
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise RuntimeError(
                        "the server of the tests did not start: " + (self.folder / "log").read_text()
                    ) from None
                time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it at once; nothing of it is kept."""
        self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()

    def address(self, database: str, user: str = "steward", password: str = PASSWORD) -> str:
        """What RELEASEGATE_LEDGER would say."""
        encoded = "".join(f"%{byte:02X}" for byte in password.encode())
        return f"postgresql://{user}:{encoded}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the owner, who may do anything; each statement is a transaction."""
        return psycopg.connect(
            host=str(self.folder), user="steward", password=PASSWORD, dbname=database, autocommit=True,
            options="-c search_path=releasegate,public",
        )  # fmt: skip

    def new_database(self, options: str = "") -> str:
        """Address of an empty database."""
        name = f"ledger{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return self.address(name)


def binaries() -> Path | None:
    """Folder of ``initdb`` and ``postgres``; None where there is none."""
    found = shutil.which("initdb")
    candidates = [Path(found).resolve().parent] if found else []
    for pattern in _FOLDERS:
        candidates += sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
    return next((one for one in candidates if (one / "postgres").exists() and (one / "initdb").exists()), None)


def _user() -> pwd.struct_passwd | None:
    """Who the server runs as: whoever runs the tests, or for root somebody else, which PostgreSQL insists on."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def _make_empty(binaries: Path, user: pwd.struct_passwd, surroundings: Mapping[str, Any]) -> None:
    """An empty cluster, which each server of this process begins with a copy of: making one takes a second."""
    secret = _EMPTY / "password"
    secret.write_text(PASSWORD)
    for path in (_EMPTY, secret):
        os.chown(path, user.pw_uid, user.pw_gid)
    subprocess.run(
        [binaries / "initdb", "--pgdata", _EMPTY / "data", "--username=steward", "--auth=scram-sha-256",
         f"--pwfile={secret}", "--encoding=UTF8", "--no-sync", "--no-instructions"],
        check=True, capture_output=True, **{**surroundings, "cwd": _EMPTY},
    )  # fmt: skip


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[Server]:
    """A server until the end of the block; skips the test where there is none to start.

    It writes through to the disk only where that is asked for.
    """
    folder = binaries()
    user = _user()
    if folder is None or user is None:
        pytest.skip("no PostgreSQL server here: install its packages to run this test")
    place = Path(tempfile.mkdtemp(prefix="releasegate-pg-"))
    rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    surroundings = {"cwd": place, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}, **rights}
    log = place / "log"

    def begin() -> "subprocess.Popen[bytes]":
        with log.open("ab") as output:
            return subprocess.Popen(
                [*_ENDS_WITH_THE_TESTS, folder / "postgres", "-D", place / "data", "-k", place, "-h", "",
                 "-c", "max_connections=40", "-c", f"fsync={'on' if durable else 'off'}",
                 "-c", f"cluster_name=tests-{secrets.token_hex(4)}"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                **surroundings,
            )  # fmt: skip

    server = Server(place, begin)
    try:
        os.chown(place, user.pw_uid, user.pw_gid)
        if not (_EMPTY / "data").exists():
            _make_empty(folder, user, surroundings)
        subprocess.run(["cp", "-a", _EMPTY / "data", place], check=True)
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)
