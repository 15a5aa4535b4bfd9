"""The engine that flows run on: an embedded Prefect server for as long as one command runs.

The server is a child process with its database, results and log in one folder of the workspace. It listens on the
loopback interface behind a password made for the occasion, ends with the process that started it, and sends nothing
anywhere. Prefect is imported inside functions only: settings are read when it is imported, and the server starts
while the import runs.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tasks.core.errors import StageFailed

_HERE = Path(__file__).resolve().parent
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_SERIALIZER = {
    "type": "json",
    "jsonlib": "json",
    "object_encoder": "prefect.serializers.prefect_json_object_encoder",
    "object_decoder": "prefect.serializers.prefect_json_object_decoder",
    "dumps_kwargs": {},
    "loads_kwargs": {},
}
_CLASS_MARKS = frozenset({"__class__", "__exc_type__"})
_IDLE_SERVICES = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "EVENT_PERSISTER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "REPOSSESSOR",
    "SCHEDULER",
    "TRIGGERS",
)


@dataclass(frozen=True)
class Engine:
    """A running embedded server."""

    api_url: str
    process_id: int
    home: Path
    """Folder of its database, results and log."""
    seconds_to_start: float


def template_database() -> Path:
    """A database with all migrations applied, made once an installation; a new home starts from a copy of it."""
    return Path(sys.prefix) / "share" / "releasegate" / "prefect.db"


@contextmanager
def prefect_server(
    home: Path,
    *,
    results: Path | None = None,
    meanwhile: Callable[[], object] | None = None,
    timeout_seconds: float = 180.0,
) -> Iterator[Engine]:
    """Run flows on an embedded Prefect server.

    Inside the context Prefect's settings point at the server, in this process and in those it starts; afterwards they
    are as before. The server stops at the end, also after an exception, Ctrl-C or SIGTERM, and is ended by the system
    when this process is killed. Enter it from the main thread: on Linux the server ends with the thread it was
    started from.

    Parameters
    ----------
    home : Path
        Folder of the workspace for the server's database and log; made if absent.
    results : Path, optional
        Folder for the results of stages, ``results`` in `home` where not given; one a run, so that they go with it.
    meanwhile : callable, optional
        Called while the server starts, with Prefect's settings in place: the place for slow imports.
    timeout_seconds : float
        Longest wait for the server.

    Raises
    ------
    StageFailed
        If the server does not start, or not in time.
    """
    started = time.monotonic()
    home = home.resolve()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    start_from_template(home)
    results = results or home / "results"
    discard_foreign_results(results)
    with ExitStack() as stack:
        stack.enter_context(_sigterm_unwinds())
        listening = stack.enter_context(closing(socket.socket()))
        listening.bind(("127.0.0.1", 0))
        settings = _settings(home, results, listening.getsockname()[1])
        stack.enter_context(_global_settings_kept())
        stack.enter_context(environment_of(settings))
        process = _spawn(home, listening)
        stack.callback(_stop, process)
        listening.close()
        stack.enter_context(_client_settings())
        if meanwhile is not None:
            meanwhile()
        _wait_until_healthy(settings["PREFECT_API_URL"], process, home, started + timeout_seconds)
        yield Engine(settings["PREFECT_API_URL"], process.pid, home, time.monotonic() - started)


def _settings(home: Path, results: Path, port: int) -> dict[str, str]:
    """Environment of the server and of its clients."""
    password = f"releasegate:{secrets.token_urlsafe(24)}"
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _IDLE_SERVICES},
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(results),
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_LOGGING_SETTINGS_PATH": str(_HERE / "logging.yml"),
    }


@contextmanager
def environment_of(settings: Mapping[str, str]) -> Iterator[None]:
    """Replace every Prefect variable of the environment by these settings, for a while."""
    before = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_") or name in settings}
    try:
        for name in before:
            del os.environ[name]
        os.environ.update(settings)
        yield
    finally:
        for name in settings:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def _client_settings() -> Iterator[None]:
    """Make Prefect in this process follow the environment, also where it was imported before."""
    import prefect.context  # noqa: PLC0415 - reads its settings on import
    from prefect.events.worker import EventsWorker  # noqa: PLC0415
    from prefect.logging.configuration import setup_logging  # noqa: PLC0415
    from prefect.settings import temporary_settings  # noqa: PLC0415

    prefect.context.refresh_global_settings_context()
    # Settings of an outer server would go before the environment's: its context is covered by one of the environment.
    with prefect.context.root_settings_context():
        setup_logging()
        # Nobody listens to heartbeats here, and waiting for the thread that sends them costs a second a flow.
        with temporary_settings(updates={"flows.heartbeat_frequency": None}):
            try:
                yield
            finally:
                EventsWorker.drain_all(timeout=_STOP_SECONDS)


@contextmanager
def _global_settings_kept() -> Iterator[None]:
    """Give threads that have no settings of their own back, at the end, what they had where servers are nested."""
    before = getattr(sys.modules.get("prefect.context"), "GLOBAL_SETTINGS_CONTEXT", None)
    try:
        yield
    finally:
        if before is not None:
            setattr(sys.modules["prefect.context"], "GLOBAL_SETTINGS_CONTEXT", before)  # noqa: B010 - a module's


def _spawn(home: Path, listening: socket.socket) -> "subprocess.Popen[bytes]":
    """Start the server in a session of its own, so that Ctrl-C reaches it only through us."""
    with (home / "server.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and file
            [sys.executable, "-P", _HERE / "server_process.py", str(listening.fileno()), str(os.getpid())],
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[listening.fileno()],
            start_new_session=True,
        )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdin is not None:
            process.stdin.close()


def _wait_until_healthy(api_url: str, process: "subprocess.Popen[bytes]", home: Path, deadline: float) -> None:
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise _not_started(home, f"it ended with exit code {process.returncode}")
        if _is_healthy(api_url):
            return
        time.sleep(_POLL_SECONDS)
    raise _not_started(home, "no answer in time")


def _is_healthy(api_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{api_url}/health", timeout=5) as answer:  # noqa: S310 - our own http address
            return bool(answer.status == 200)
    except OSError:
        return False


def _not_started(home: Path, got: str) -> StageFailed:
    return StageFailed(
        "the orchestration server did not start",
        where=str(home / "server.log"),
        expected="an answer on the loopback interface",
        got=got,
        fix="read the log; a full disk or a damaged prefect.db beside it are the usual causes",
    )


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """Let SIGTERM end the process through its ``finally`` blocks, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def unwind(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def start_from_template(home: Path) -> None:
    """Give a home without a database a copy of the one with all migrations applied, where that was made."""
    database = home / "prefect.db"
    if not database.exists() and template_database().exists():
        copy = home / f"prefect.db.{os.getpid()}"
        try:
            shutil.copyfile(template_database(), copy)
            copy.rename(database)
        finally:
            copy.unlink(missing_ok=True)


def make_template_database() -> None:
    """Apply Prefect's migrations once, for all homes to come; part of ``make setup``."""
    target = template_database()
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with prefect_server(home):
            pass
        target.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(home / "prefect.db")) as made, closing(sqlite3.connect(target)) as copy:
            made.backup(copy)


def discard_foreign_results(storage: Path) -> None:
    """Remove stored results that could run code when Prefect reads them.

    A stored result names the serializer that reads it, and the JSON one builds any class that the text names. Anyone
    who could plant a file here, or hands over a workspace, must not gain more than a stage that is run again.
    """
    for path in storage.rglob("*") if storage.is_dir() else ():
        if path.is_symlink() or (path.is_file() and not _is_plain_json(path)):
            path.unlink()


def _is_plain_json(path: Path) -> bool:
    try:
        record = json.loads(path.read_bytes(), object_pairs_hook=_without_classes)
        json.loads(record["result"], object_pairs_hook=_without_classes)
        return set(record) == {"metadata", "result"} and record["metadata"]["serializer"] == _SERIALIZER
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _without_classes(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs) or not _CLASS_MARKS.isdisjoint(found):
        raise ValueError
    return found
