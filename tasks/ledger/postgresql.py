"""The ledger in a PostgreSQL database: its schema, its guards, its errors.

Everything lies in the schema ``releasegate``. The role that the gate logs in as needs SELECT and INSERT on its tables
and USAGE on the schema; where another role owns them, the gate's password does not suffice to remove the guards.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from tasks.core.errors import ReleasegateError, TamperingFound, WorkspaceError
from tasks.ledger.database import FORMAT, changed_guards, no_ledger, refused_entry
from tasks.ledger.entry import GENESIS

SCHEMES = ("postgresql://", "postgres://")
"""Beginnings of the address of a ledger in PostgreSQL."""

_LOCK_WAIT_SECONDS = 30.0
_CONNECT_SECONDS = 10
_LOCK = int.from_bytes(b"ledger", "big")
_HOST = re.compile(r"[\w.:/-]*")
_FUNCTIONS = {
    "entry_is_final": """
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
""",
    "entry_follows_head": f"""
BEGIN
  PERFORM pg_advisory_xact_lock({_LOCK});
  IF NEW.sequence IS DISTINCT FROM (SELECT coalesce(max(sequence), 0) + 1 FROM releasegate.entry)
    OR NEW.prev_sha256 IS DISTINCT FROM
      coalesce((SELECT sha256 FROM releasegate.entry ORDER BY sequence DESC LIMIT 1), '{GENESIS}')
  THEN
    RAISE EXCEPTION 'the entry does not follow the head of the ledger'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
""",  # noqa: S608 — constants are filled in
}
# Name: when it fires, PostgreSQL's bits for that, and its function.
_TRIGGERS = {
    "entry_no_change": ("BEFORE UPDATE OR DELETE", "ROW", 1 + 2 + 8 + 16, "entry_is_final"),
    "entry_no_truncate": ("BEFORE TRUNCATE", "STATEMENT", 2 + 32, "entry_is_final"),
    "entry_follows_head": ("BEFORE INSERT", "ROW", 1 + 2 + 4, "entry_follows_head"),
}
_INDEXES = {
    "entry_pkey": ("sequence", True),
    "entry_prev_sha256_key": ("prev_sha256", True),
    "entry_by_release": ("release_id, recipient", False),
}
_FOUND_TRIGGERS = """
SELECT t.tgname::text, t.tgtype::int, t.tgenabled::text, t.tgqual IS NULL AND t.tgnargs = 0 AND t.tgattr::text = '',
  n.nspname || '.' || p.proname, p.prosrc, l.lanname::text, p.proconfig::text
FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_language l ON l.oid = p.prolang
WHERE t.tgrelid = 'releasegate.entry'::regclass AND NOT t.tgisinternal
"""
_FOUND_INDEXES = """
SELECT c.relname::text,
  (SELECT string_agg(a.attname, ', ' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY k(att, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att),
  i.indisunique, i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate AND i.indpred IS NULL
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'releasegate.entry'::regclass
"""
_PLAIN_TABLE = """
SELECT relkind = 'r' AND relpersistence = 'p'
  AND NOT (relrowsecurity OR relhasrules OR relhassubclass OR relispartition)
FROM pg_class WHERE oid = 'releasegate.entry'::regclass
"""


@dataclass(frozen=True)
class Postgresql:
    """A ledger in a database; made by `at`."""

    url: URL = field(repr=False)

    errors = (DBAPIError,)

    @classmethod
    def at(cls, address: str) -> Self:
        """The ledger at an address.

        Parameters
        ----------
        address : str
            ``postgresql://user:password@host:port/database``, with libpq's parameters after a question mark. What is
            left out comes from libpq's environment and password file.

        Raises
        ------
        WorkspaceError
            If the address cannot be read; it is not quoted.
        """
        scheme = next((scheme for scheme in SCHEMES if address.startswith(scheme)), None)
        try:
            if scheme is None:
                raise ValueError
            url = make_url("postgresql+psycopg://" + address.removeprefix(scheme))
        except (ArgumentError, ValueError):
            raise _unreadable_address() from None
        if not (_HOST.fullmatch(url.host or "") and re.fullmatch(r"[\w.-]*", url.database or "")):
            raise _unreadable_address()
        return cls(url)

    @property
    def place(self) -> str:
        """Server and database, without user, password and parameters."""
        host = self.url.host or ""
        if ":" in host:
            host = f"[{host}]"
        port = f":{self.url.port}" if self.url.port else ""
        return f"postgresql://{host}{port}/{self.url.database or ''}"

    def exists(self) -> bool:
        """Whether the database holds a ledger's table."""
        engine = self.connect()
        try:
            with engine.connect() as connection, connection.begin():
                return _has(connection, "entry")
        finally:
            engine.dispose()

    def create(self, make_tables: Callable[[Connection], None]) -> None:
        """Make schema, tables and guards in one transaction; see ``Database``."""
        engine = self.connect()
        try:
            with engine.connect().execution_options(write=True) as connection, connection.begin():
                if not _has(connection, "entry"):
                    self._make(connection, make_tables)
        finally:
            engine.dispose()

    def _make(self, connection: Connection, make_tables: Callable[[Connection], None]) -> None:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise WorkspaceError(
                "the database cannot hold every character",
                where=self.place,
                expected="a database of encoding UTF8",
                got=f"encoding {encoding}",
                fix="Create a database with ENCODING 'UTF8' TEMPLATE template0 and name that one.",
            )
        if connection.exec_driver_sql("SELECT to_regnamespace('releasegate') IS NULL").scalar_one():
            connection.exec_driver_sql("CREATE SCHEMA releasegate")
        make_tables(connection)
        connection.exec_driver_sql("CREATE TABLE releasegate.ledger_format (version integer NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO releasegate.ledger_format VALUES ({FORMAT})")  # noqa: S608 — a constant
        for statement in guard_statements():
            connection.exec_driver_sql(statement)

    def connect(self) -> Engine:
        """An engine on the database; a writing transaction holds the ledger's advisory lock from its beginning."""
        given = self.url.query
        try:
            engine = create_engine(
                self.url,
                poolclass=NullPool,
                hide_parameters=True,
                execution_options={"schema_translate_map": {None: "releasegate"}},
                connect_args={
                    "application_name": "releasegate",
                    "client_encoding": "utf8",
                    **({} if "connect_timeout" in given else {"connect_timeout": _CONNECT_SECONDS}),
                },
            )
        except ModuleNotFoundError:
            raise WorkspaceError(
                "the driver of PostgreSQL is not installed",
                where=self.place,
                expected="the package psycopg",
                got="none",
                fix="Install releasegate with its extra “postgres”.",
            ) from None

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get("write", False)
            for statement in _begin_write() if write else _BEGIN_READ:
                connection.exec_driver_sql(statement)

        return engine

    def check_format(self, connection: Connection) -> int:
        """The format of the tables; see ``Database``."""
        if not (_has(connection, "entry") and _has(connection, "ledger_format")):
            raise no_ledger(self.place)
        versions = connection.exec_driver_sql("SELECT version FROM releasegate.ledger_format").scalars().all()
        if list(versions) != [FORMAT]:
            raise WorkspaceError(
                "the ledger was written by another version of the program",
                where=self.place,
                expected=f"ledger format {FORMAT}",
                got="a different format",
                fix="Use the version of releasegate that wrote it.",
            )
        return FORMAT

    def migrate(self, connection: Connection) -> None:
        """There is no earlier format in PostgreSQL: check that this is the present one."""
        self.check_format(connection)

    def check_guards(self, connection: Connection) -> None:
        """Check triggers, their functions, unique keys and the kind of the table; see ``Database``."""
        expected: dict[str, tuple[object, ...]] = {
            name: (
                bits,
                "A",
                True,
                f"releasegate.{function}",
                _FUNCTIONS[function],
                "plpgsql",
                "{search_path=pg_catalog}",
            )
            for name, (_, _, bits, function) in _TRIGGERS.items()
        }
        expected |= {name: (columns, unique, True) for name, (columns, unique) in _INDEXES.items()}
        found: dict[str, tuple[object, ...]] = {"the table itself": ()}
        for query in (_FOUND_TRIGGERS, _FOUND_INDEXES):
            found |= {name: tuple(facts) for name, *facts in connection.exec_driver_sql(query)}
        if connection.exec_driver_sql(_PLAIN_TABLE).scalar_one():
            expected["the table itself"] = ()
        if found != expected:
            odd = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            known = [name for name in odd if name in expected or name == "the table itself"]
            raise changed_guards(
                self.place,
                f"an ordinary table with the triggers {', '.join(_TRIGGERS)} and its keys as they were created",
                known,
            )

    def check_pages(self, connection: Connection) -> None:
        """Check that the table and each of its indexes lead to the same number of entries; see ``Database``."""
        counts = set()
        with connection.begin_nested() as settings:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
            connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
            connection.exec_driver_sql("SET LOCAL enable_indexonlyscan = off")
            connection.exec_driver_sql("SET LOCAL enable_sort = off")
            for columns, _ in _INDEXES.values():
                query = f"SELECT count(*) FROM (SELECT 1 FROM releasegate.entry ORDER BY {columns}) AS entries"  # noqa: S608 — constants
                counts.add(connection.exec_driver_sql(query).scalar_one())
            settings.rollback()
        with connection.begin_nested() as settings:
            connection.exec_driver_sql("SET LOCAL enable_indexscan = off")
            connection.exec_driver_sql("SET LOCAL enable_indexonlyscan = off")
            connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
            counts.add(connection.exec_driver_sql("SELECT count(*) FROM releasegate.entry").scalar_one())
            settings.rollback()
        if len(counts) > 1:
            raise self.damaged("its entries are right, but its indexes are not")

    def damaged(self, got: str) -> TamperingFound:
        """The error of a table whose bytes are no longer what PostgreSQL wrote."""
        return TamperingFound(
            "the ledger's table is damaged",
            where=self.place,
            expected="a table whose pages, indexes and entries agree",
            got=got,
            fix="Stop releasing; restore the ledger from a backup and find out what changed it.",
        )

    def unreadable(self, error: Exception, sequence: int) -> ReleasegateError:
        """A connection may break as well as a page be damaged; see ``Database``."""
        ours = self.translate(error)
        return self.damaged(f"entry {sequence} cannot be read") if isinstance(ours, TamperingFound) else ours

    def translate(self, error: Exception) -> ReleasegateError:
        """Our error for one of PostgreSQL's, by its SQLSTATE; see ``Database``."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None) or ""
        if state.startswith("XX"):
            return self.damaged("pages that cannot be read")
        if state.startswith("23"):
            return refused_entry(self.place)
        if state in {"42P01", "42703", "3F000"}:
            return no_ledger(self.place)
        got, fix = _CAUSES.get(state) or _CAUSES.get(state[:2]) or _UNREACHABLE
        return WorkspaceError(
            "the ledger cannot be used", where=self.place, expected="a database that can be written", got=got, fix=fix
        )


_UNREACHABLE = (
    "the server cannot be reached, refuses the user, or closed the connection",
    "Check the server, its address in RELEASEGATE_LEDGER, user and password, then run again.",
)
_CAUSES = {
    "53100": ("its disk is full", "Free space on the database server and run again."),
    "53": ("the server is out of memory or connections", "Run again when the server has room."),
    "55P03": ("another process keeps it locked", "Wait until the other process ends and run again."),
    "57014": ("the server cancelled a statement", "Raise the server's statement_timeout for this user and run again."),
    "25006": ("it is read-only", "Name the primary server, or make the database writable."),
    "42501": ("the user lacks a permission", "Grant USAGE on the schema, SELECT and INSERT on its tables."),
}
_BEGIN_READ = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",)


def _begin_write() -> tuple[str, ...]:
    # READ COMMITTED, whatever the database's default: the head must be read after the lock is held.
    return (
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
        f"SELECT set_config('lock_timeout', '{int(_LOCK_WAIT_SECONDS * 1000)}', true), "
        "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END, "
        f"pg_advisory_xact_lock({_LOCK})",
    )


def guard_statements() -> list[str]:
    """The statements that make the table append-only."""
    statements = [
        f"CREATE FUNCTION releasegate.{name}() RETURNS trigger LANGUAGE plpgsql "
        f"SET search_path = pg_catalog AS $guard${body}$guard$"
        for name, body in _FUNCTIONS.items()
    ]
    for name, (when, each, _, function) in _TRIGGERS.items():
        statements += [
            f"CREATE TRIGGER {name} {when} ON releasegate.entry FOR EACH {each} "
            f"EXECUTE FUNCTION releasegate.{function}()",
            # ALWAYS: a session that calls itself a replica would pass by an ordinary trigger.
            f"ALTER TABLE releasegate.entry ENABLE ALWAYS TRIGGER {name}",
        ]
    return statements


def _has(connection: Connection, table: str) -> bool:
    return bool(connection.exec_driver_sql(f"SELECT to_regclass('releasegate.{table}') IS NOT NULL").scalar_one())


def _unreadable_address() -> WorkspaceError:
    return WorkspaceError(
        "the ledger's address cannot be read",
        where="RELEASEGATE_LEDGER",
        expected="postgresql://user:password@host:port/database",
        got="something else",
        fix="Write other characters than letters and digits of user and password as % and two hexadecimal digits.",
    )
