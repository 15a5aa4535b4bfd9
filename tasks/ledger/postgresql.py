"""The ledger in a PostgreSQL database: its schema, its guards, its errors.

Everything lies in the schema ``releasegate``. The role that the gate logs in as needs SELECT and INSERT on its tables
and USAGE on the schema; where another role owns them, the gate's password does not suffice to remove the guards.
"""

import re
from dataclasses import dataclass, field
from typing import ClassVar, Self

from sqlalchemy import Connection, Engine, MetaData, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from tasks.core.errors import WorkspaceError
from tasks.ledger.database import DAMAGED, FOREIGN, FORMAT, REFUSED, Fault
from tasks.ledger.entry import GENESIS

SCHEMES = ("postgresql://", "postgres://")
"""Beginnings of the address of a ledger in PostgreSQL."""

_LOCK_WAIT_SECONDS = 30.0
_CONNECT_SECONDS = 10
_LOCK = int.from_bytes(b"ledger", "big")
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
SELECT 'the table itself', relkind = 'r' AND relpersistence = 'p'
  AND NOT (relrowsecurity OR relhasrules OR relhassubclass OR relispartition)
FROM pg_class WHERE oid = 'releasegate.entry'::regclass
"""


@dataclass(frozen=True)
class Postgresql:
    """A ledger in a database; made by `at`."""

    url: URL = field(repr=False)

    noun: ClassVar = "database"
    errors: ClassVar[tuple[type[Exception], ...]] = (DBAPIError,)
    guards: ClassVar = tuple(_TRIGGERS)

    @classmethod
    def at(cls, address: str) -> Self:
        """The ledger at ``postgresql://user:password@host:port/database``; libpq's parameters after a question mark.

        Parts that are left out come from libpq's environment and password file. A WorkspaceError, which does not quote
        the address, says that it cannot be read.
        """
        try:
            url = make_url("postgresql+psycopg://" + address.split("://", 1)[1])
            sound = re.fullmatch(r"[\w.:/-]*", url.host or "") and re.fullmatch(r"[\w.-]*", url.database or "")
        except (ArgumentError, ValueError):
            sound = None
        if not sound:
            raise WorkspaceError(
                "the ledger's address cannot be read",
                where="RELEASEGATE_LEDGER",
                expected="postgresql://user:password@host:port/database",
                got="something else",
                fix="write other characters than letters and digits of user and password as % and two hexadecimal "
                "digits.",
            )
        return cls(url)

    @property
    def place(self) -> str:
        """Name in messages: server and database, without user and password."""
        host = self.url.host or ""
        port = f":{self.url.port}" if self.url.port else ""
        return f"postgresql://{f'[{host}]' if ':' in host else host}{port}/{self.url.database or ''}"

    def exists(self) -> bool:
        """Whether the database has a ledger."""
        with self.connect().connect() as connection, connection.begin():
            return _has(connection, "entry")

    def create(self, tables: MetaData) -> None:
        """Make a ledger as a whole, unless there is one; of several processes that do so at once, one wins."""
        with self.connect().connect().execution_options(write=True) as connection, connection.begin():
            if _has(connection, "entry"):
                return
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
            if encoding != "UTF8":
                raise WorkspaceError(
                    "the database cannot hold every character",
                    where=self.place,
                    expected="a database of encoding UTF8",
                    got=f"encoding {encoding}",
                    fix="create a database with ENCODING 'UTF8' TEMPLATE template0 and name that one",
                )
            # Where the schema is there, its user may not have the right to make one.
            if connection.exec_driver_sql("SELECT to_regnamespace('releasegate') IS NULL").scalar_one():
                connection.exec_driver_sql("CREATE SCHEMA releasegate")
            tables.create_all(connection)
            for statement in (
                "CREATE TABLE releasegate.ledger_format (version integer NOT NULL)",
                f"INSERT INTO releasegate.ledger_format VALUES ({FORMAT})",  # noqa: S608 — a constant
                *guard_statements(),
            ):
                connection.exec_driver_sql(statement)

    def connect(self) -> Engine:
        """An engine; a connection begins as the only writer where its option ``write`` is set, else on one snapshot."""
        try:
            engine = create_engine(
                self.url,
                poolclass=NullPool,
                hide_parameters=True,
                execution_options={"schema_translate_map": {None: "releasegate"}},
                connect_args={
                    "application_name": "releasegate",
                    "client_encoding": "utf8",
                    **({} if "connect_timeout" in self.url.query else {"connect_timeout": _CONNECT_SECONDS}),
                },
            )
        except ModuleNotFoundError:
            raise WorkspaceError(
                "the driver of PostgreSQL is not installed",
                where=self.place,
                expected="the package psycopg",
                got="none",
                fix="install releasegate with its extra “postgres”",
            ) from None

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get("write", False)
            for statement in _BEGIN_WRITE if write else _BEGIN_READ:
                connection.exec_driver_sql(statement)

        return engine

    def format_of(self, connection: Connection) -> object:
        """Format of the ledger's table; None where there is none."""
        if not (_has(connection, "entry") and _has(connection, "ledger_format")):
            return None
        versions = connection.exec_driver_sql("SELECT version FROM releasegate.ledger_format").scalars().all()
        return versions[0] if len(versions) == 1 else "unknown"

    def changed_guards(self, connection: Connection) -> list[str] | None:
        """Triggers, functions, keys or the kind of the table that were changed; None where all are as created."""
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
        expected["the table itself"] = (True,)
        found = {
            name: tuple(facts)
            for query in (_FOUND_TRIGGERS, _FOUND_INDEXES, _PLAIN_TABLE)
            for name, *facts in connection.exec_driver_sql(query)
        }
        return None if found == expected else sorted(one for one in expected if found.get(one) != expected[one])

    def pages_agree(self, connection: Connection) -> bool:
        """Whether the table and each of its indexes lead to the same number of entries."""
        table = "SELECT count(*) FROM releasegate.entry", ("indexscan", "indexonlyscan", "bitmapscan")
        by_index = [
            (
                f"SELECT count(*) FROM (SELECT 1 FROM releasegate.entry ORDER BY {columns}) AS entries",  # noqa: S608 — constants
                ("seqscan", "bitmapscan", "indexonlyscan", "sort"),
            )
            for columns, _ in _INDEXES.values()
        ]
        counts = set()
        for query, disabled in (table, *by_index):
            with connection.begin_nested() as settings:
                for plan in disabled:
                    connection.exec_driver_sql(f"SET LOCAL enable_{plan} = off")
                counts.add(connection.exec_driver_sql(query).scalar_one())
                settings.rollback()
        return len(counts) == 1

    def fault_of(self, error: Exception) -> Fault | tuple[str, str]:
        """Meaning of a database error: a fault, or what is wrong with the database and what to do."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(cause, "sqlstate", None) or ""
        return _FAULTS.get(state) or _FAULTS.get(state[:2]) or UNREACHABLE


UNREACHABLE = (
    "the server cannot be reached, refuses the user, or closed the connection",
    "Check the server, its address in RELEASEGATE_LEDGER, user and password, then run again.",
)
OVERLOADED = ("the server is out of memory or connections", "Run again when the server has room.")
_FAULTS: dict[str, Fault | tuple[str, str]] = {
    "XX": DAMAGED,
    "23": REFUSED,
    "42P01": FOREIGN,
    "42703": FOREIGN,
    "3F000": FOREIGN,
    "53100": ("its disk is full", "Free space on the database server and run again."),
    "53": OVERLOADED,
    "55P03": ("another process keeps it locked", "Wait until the other process ends and run again."),
    "57014": ("the server cancelled a statement", "Raise the server's statement_timeout for this user and run again."),
    "25006": ("it is read-only", "Name the primary server, or make the database writable."),
    "42501": ("the user lacks a permission", "Grant USAGE on the schema, SELECT and INSERT on its tables."),
}
_BEGIN_READ = ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",)
# READ COMMITTED, whatever the database's default: the head must be read after the lock is held.
_BEGIN_WRITE = (
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
