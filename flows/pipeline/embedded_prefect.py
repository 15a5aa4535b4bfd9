"""The engine that flows run on: an embedded Prefect server for as long as one command runs.

The server runs in a thread of this process, with its database, results and log in one folder of the workspace. It
listens on the loopback interface behind a password made for the occasion, and sends nothing anywhere. Prefect is
imported inside functions only: it reads its settings when it is imported.
"""

import contextvars
import json
import logging
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
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

from tasks.core.errors import StageFailed

FLOWS = Path(__file__).resolve().parents[1]
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.01
_LONGEST_START = 180.0
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
_SERVER_LOGGERS = ("prefect.server", "uvicorn", "docket", "sqlalchemy", "aiosqlite")
NO_AUTHORITY = FLOWS / "no_authority.pem"
"""A certificate whose key was never kept: connections within this machine need none of the 140 authorities of the web,
which take 50 milliseconds to read for each of five clients."""
_ASKED_FIRST = ("/events", "/flows", "/flow_runs", "/admin", "/csrf-token")
QUICK_START = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    # A library of the server's wraps all its functions in checks of types as it is imported, which takes 0.1 seconds.
    "PY_KEY_VALUE_DISABLE_BEARTYPE": "true",
}
"""Settings of every server of our own."""
_BRIEF = QUICK_START | {
    "PREFECT_SERVER_EVENTS_STREAM_OUT_ENABLED": "false",
    # Stages are recorded many at a time, and at the end, in place of three transactions each.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT__SERVER_EPHEMERAL": "1",
}
"""Settings of a server that runs for one command."""


@dataclass(frozen=True)
class EmbeddedServer:
    """An embedded server that answers."""

    api_url: str
    home: Path
    """Folder of its database, results and log."""


def template_database() -> Path:
    """A database with all migrations of this Prefect applied, made once; a new home starts from a copy of it."""
    return Path(sys.prefix) / "share" / "releasegate" / f"prefect-{metadata.version('prefect')}.db"


@contextmanager
def prefect_server(home: Path, results: Path | None = None) -> Iterator[EmbeddedServer]:
    """Run flows on an embedded Prefect server.

    Inside the context the environment, and Prefect in this process, point at the server; afterwards they are as before.
    The server stops at the end, also after an exception, Ctrl-C or SIGTERM.

    Database and log are in `home`, a folder of the workspace, made if absent; the results of stages in `results`, or
    ``results`` in `home` where not given: one a run, so that they go with it. Raises StageFailed if the server does not
    start, or not in time.
    """
    home = home.resolve()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    start_from_template(home)
    results = results or home / "results"
    discard_foreign_results(results)
    with ExitStack() as stack:
        stack.enter_context(_sigterm_unwinds())
        listening = stack.enter_context(bound_socket(None))
        api_url = f"http://127.0.0.1:{listening.getsockname()[1]}/api"
        password = new_password()
        settings = client_settings(home, api_url, results) | server_settings(home, password, _IDLE_SERVICES) | _BRIEF
        settings |= {"PREFECT_API_AUTH_STRING": password, "PREFECT_API_SSL_CERT_FILE": str(NO_AUTHORITY)}
        if is_migrated(home):
            settings |= {"PREFECT_SERVER_DATABASE_MIGRATE_ON_START": "false"}
        stack.enter_context(environment_of(settings))
        stack.enter_context(_prefect_settings())
        stack.enter_context(_log_file(home / "server.log"))
        stack.enter_context(_database(settings["PREFECT_SERVER_DATABASE_CONNECTION_URL"]))
        stack.enter_context(_serving(listening, api_url, home))
        stack.callback(_send_last_events)
        yield EmbeddedServer(api_url, home)


def client_settings(home: Path, api_url: str, results: Path) -> dict[str, str]:
    """Environment of all processes that use a Prefect server; they send nothing anywhere else."""
    return {
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": api_url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_LOGGING_SETTINGS_PATH": str(FLOWS / "logging.yml"),
        "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(results),
    }


def server_settings(home: Path, password: str, idle_services: Iterable[str]) -> dict[str, str]:
    """Further environment of a server of our own."""
    return {
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{home / 'prefect.db'}",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in idle_services},
    }


def new_password() -> str:
    """A password for a server of our own."""
    return f"releasegate:{secrets.token_urlsafe(24)}"


def bound_socket(port: int | None) -> socket.socket:
    """A socket on the loopback interface, at any free port where none is given."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port or 0))
    except OSError:
        bound.close()
        raise
    return bound


def spawn(
    home: Path, log: str, script: str, environment: Mapping[str, str], *descriptors: int
) -> "subprocess.Popen[bytes]":
    """Start a child in a session of its own, with a pipe that closes with this process; Ctrl-C does not reach it."""
    with os.fdopen(os.open(home / log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and file
            [sys.executable, "-P", str(FLOWS / script), *(str(one) for one in (*descriptors, os.getpid()))],
            env=dict(environment),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=descriptors,
            start_new_session=True,
        )


def is_healthy(api_url: str, settings: Mapping[str, str]) -> bool:
    """Whether a Prefect server answers, asked with the credentials in Prefect's settings."""
    headers = {}
    if "PREFECT_API_KEY" in settings:
        headers["Authorization"] = f"Bearer {settings['PREFECT_API_KEY']}"
    elif "PREFECT_API_AUTH_STRING" in settings:
        headers["Authorization"] = "Basic " + b64encode(settings["PREFECT_API_AUTH_STRING"].encode()).decode()
    try:
        request = urllib.request.Request(f"{api_url}/health", headers=headers)  # noqa: S310 - checked, or our own
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - checked, or our own
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


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
def _prefect_settings() -> Iterator[None]:
    """Make Prefect in this process follow the environment, also where it was imported before."""
    before = getattr(sys.modules.get("prefect.context"), "GLOBAL_SETTINGS_CONTEXT", None)
    import prefect.context  # noqa: PLC0415 - reads its settings on import
    from prefect.logging.configuration import setup_logging  # noqa: PLC0415

    if before is not None:
        prefect.context.refresh_global_settings_context()
    read = prefect.context.GLOBAL_SETTINGS_CONTEXT
    # Nobody listens to heartbeats here, and waiting for the thread that sends them costs a second a flow.
    read.settings.flows.heartbeat_frequency = None
    # Settings of an outer server would go before the environment's: its context is covered by one of the environment.
    with prefect.context.SettingsContext(profile=read.profile, settings=read.settings), _written_once(read.settings):
        setup_logging()
        try:
            yield
        finally:
            if before is not None:  # threads without settings of their own have the outer server's again
                prefect.context.GLOBAL_SETTINGS_CONTEXT = before


@contextmanager
def _written_once(settings: Any) -> Iterator[None]:
    """Let Prefect write these settings out as variables once: it does so five times as it starts, 50 ms each."""
    kind, name = type(settings), "to_environment_variables"
    write, made = getattr(kind, name), dict[str, dict[str, str]]()

    def written(one: Any, **form: bool) -> dict[str, str]:
        if one is not settings:
            return dict(write(one, **form))
        return dict(made.get(str(form)) or made.setdefault(str(form), write(one, **form)))

    before = vars(kind).get(name)  # of an outer server; else it is a method of its base
    setattr(kind, name, written)
    try:
        yield
    finally:
        delattr(kind, name) if before is None else setattr(kind, name, before)


def _database(url: str) -> AbstractContextManager[None]:
    """Make Prefect's server code in this process, which keeps the first database it used, use this one."""
    from prefect.server.database.configurations import AioSqliteConfiguration  # noqa: PLC0415
    from prefect.server.database.dependencies import temporary_database_config  # noqa: PLC0415

    return temporary_database_config(AioSqliteConfiguration(connection_url=url))


@contextmanager
def _serving(listening: socket.socket, api_url: str, home: Path) -> Iterator[None]:
    """Serve Prefect's API in a thread of this process.

    A process of its own would import for two seconds what this one has to import anyway.
    """
    import uvicorn  # noqa: PLC0415
    from prefect.server.api import server as api  # noqa: PLC0415

    # A request builds every router that it tries: this takes longer than all else unless those asked for come first.
    routers = sorted(api.API_ROUTERS, key=lambda router: router.prefix not in _ASKED_FIRST)
    api.API_ROUTERS = tuple(routers)  # type: ignore[assignment]  # a tuple of 30
    server = uvicorn.Server(uvicorn.Config(api.create_app(ignore_cache=True), log_config=None, lifespan="on"))

    def serve() -> None:
        with suppress(SystemExit):  # how uvicorn says that it could not start; it has logged why
            server.run([listening])

    thread = threading.Thread(target=contextvars.copy_context().run, args=(serve,), name="prefect-server", daemon=True)
    thread.start()
    deadline = time.monotonic() + _LONGEST_START
    try:
        while not is_healthy(api_url, os.environ):
            if not thread.is_alive():
                raise _not_started(home, "it ended")
            if time.monotonic() > deadline:
                raise _not_started(home, "no answer in time")
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        server.should_exit = True
        thread.join(_STOP_SECONDS)


class _LogFile(logging.FileHandler):
    """A log file whose own failure, on a full disk, is not printed: the command's message says what is wrong."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Leave the line out."""


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    """Write warnings of the server's libraries to a file that only the user can read."""
    path.touch(mode=0o600)
    handler = _LogFile(path)
    loggers = [logging.getLogger(name) for name in _SERVER_LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


def _send_last_events() -> None:
    from prefect.events.worker import EventsWorker  # noqa: PLC0415

    EventsWorker.drain_all(timeout=_STOP_SECONDS)


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


def is_migrated(home: Path) -> bool:
    """Whether a home's database has all migrations of this Prefect, so that nothing has to look for them."""
    revisions = []
    for database in (template_database(), home / "prefect.db"):
        if not database.is_file():
            return False
        try:
            with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
                revisions += connection.execute("SELECT version_num FROM alembic_version").fetchall()
        except sqlite3.Error:
            return False
    return len(revisions) == 2 and revisions[0] == revisions[1]


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
