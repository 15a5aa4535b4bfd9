"""What is particular to a ledger in PostgreSQL: its address, its guards, its server."""

import subprocess
from pathlib import Path

import pytest

from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.ledger.chain import Checkpoints
from tasks.ledger.databases import database_at
from tasks.ledger.postgresql import Postgresql
from tasks.ledger.store import Ledger
from tests.support.ledgers import Raw, add, fill
from tests.support.postgres import PASSWORD, Server, binaries

pytestmark = pytest.mark.slow


@pytest.fixture
def address(server: Server) -> str:
    address = server.new_database()
    fill(address)
    return address


@pytest.fixture
def raw(server: Server, address: str) -> Raw:
    return Raw(server.connect(database_of(address)))


def database_of(address: str) -> str:
    return address.rpartition("@/")[2].partition("?")[0]


def told(address: str) -> str:
    with pytest.raises(WorkspaceError) as caught:
        Ledger.open(address)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("postgresql://u:secret@db.example:5433/gate?sslmode=require", "postgresql://db.example:5433/gate"),
        ("postgres://u:s%40cret@db/gate?password=secret", "postgresql://db/gate"),
        ("postgresql://u:secret@[::1]/gate", "postgresql://[::1]/gate"),
        ("postgresql:///gate?host=/run/pg&user=u", "postgresql:///gate"),
    ],
)
def test_an_address_is_shown_without_user_password_and_parameters(address: str, place: str) -> None:
    database = database_at(address)
    assert isinstance(database, Postgresql)
    assert database.place == place
    assert "secret" not in repr(database)


@pytest.mark.parametrize(
    "address",
    ["postgresql://u:p@secret@db/gate", "postgresql://u:secret@db:port/gate", "postgresql://u:x@db/a b/secret"],
)
def test_an_address_that_cannot_be_read_is_not_quoted(address: str) -> None:
    said = told(address)
    assert "RELEASEGATE_LEDGER" in said
    assert "secret" not in said
    assert "p@" not in said.replace("password@", "")


def test_no_error_shows_the_password(server: Server) -> None:
    wrong = server.address("postgres", password=PASSWORD + "x")
    absent = server.address("nosuch")
    unreachable = server.address("postgres").replace(str(server.folder), "/nowhere")
    for address in (wrong, absent, unreachable):
        said = told(address)
        assert "cannot be reached" in said
        assert PASSWORD not in said
        assert "canary" not in said
        assert "steward" not in said


def test_an_owner_can_truncate_no_more_than_delete(raw: Raw, address: str) -> None:
    for statement in (
        "TRUNCATE entry",
        "SET session_replication_role = replica; DELETE FROM entry",
        "INSERT INTO entry SELECT * FROM entry WHERE sequence = 3 ON CONFLICT (sequence) DO UPDATE SET actor = 'x'",
    ):
        with pytest.raises(Exception, match=r"append-only|follow the head"):
            raw.execute(statement)
    with Ledger.open(address) as ledger:
        assert ledger.verify() == 40


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DROP TRIGGER entry_no_change ON entry", "entry_no_change"),
        ("DROP TRIGGER entry_no_truncate ON entry", "entry_no_truncate"),
        ("ALTER TABLE entry DISABLE TRIGGER entry_follows_head", "entry_follows_head"),
        ("ALTER TABLE entry ENABLE TRIGGER entry_no_change", "entry_no_change"),
        (
            "CREATE OR REPLACE FUNCTION releasegate.entry_is_final() RETURNS trigger LANGUAGE plpgsql "
            "SET search_path = pg_catalog AS 'BEGIN RETURN NEW; END'",
            "entry_no_change, entry_no_truncate",
        ),
        (
            "CREATE TRIGGER more BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION releasegate.entry_follows_head()",
            "further triggers",
        ),
        ("CREATE RULE silent AS ON INSERT TO entry WHERE false DO INSTEAD NOTHING", "the table itself"),
        ("ALTER TABLE entry ENABLE ROW LEVEL SECURITY", "the table itself"),
        ("ALTER TABLE entry SET UNLOGGED", "the table itself"),
        ("ALTER TABLE entry DROP CONSTRAINT entry_prev_sha256_key", "entry_prev_sha256_key"),
    ],
)
def test_changed_guards_are_found_and_stop_writing(raw: Raw, address: str, statement: str, named: str) -> None:
    raw.execute(statement)
    with Ledger.open(address) as ledger:
        for call in (ledger.verify, lambda: add(ledger)):
            with pytest.raises(TamperingFound, match="guards") as caught:
                call()
            assert caught.value.got.endswith(named)
        assert len(ledger.entries()) == 40


def test_an_index_that_does_not_lead_to_every_entry_is_found(raw: Raw, address: str) -> None:
    index = "WHERE indexrelid = 'releasegate.entry_by_release'::regclass"
    raw.unguard().execute(
        f"UPDATE pg_index SET indisready = false {index}",
        "DELETE FROM entry WHERE sequence = 40",
    )
    raw.guard()
    with Ledger.open(address) as ledger, pytest.raises(TamperingFound, match="guards"):
        add(ledger, 40)
    raw.execute(
        "INSERT INTO entry SELECT 40, at, event, release_id, recipient, actor, body, sha256, 'x' FROM entry "
        "WHERE sequence = 39",
        f"UPDATE pg_index SET indisready = true {index}",
    )
    with Ledger.open(address) as ledger, ledger._reading() as connection:
        ledger._check_guards()
        assert not ledger._database.pages_agree(connection)


def test_a_damaged_page_is_found_without_being_quoted(server: Server, raw: Raw, address: str) -> None:
    name = database_of(address)
    raw.execute("CHECKPOINT")
    file = raw.connection.execute("SELECT pg_relation_filepath('releasegate.entry')").fetchone()[0]
    with (server.folder / "data" / file).open("r+b") as stream:
        stream.seek(8192 + 8)
        stream.write(b"\xff" * 16)
    raw.connection.close()
    with server.connect() as owner:  # a copy, because the server still knows the page as it was
        owner.execute(f"CREATE DATABASE {name}copy TEMPLATE {name} STRATEGY file_copy")
    with Ledger.open(server.address(f"{name}copy")) as ledger:
        with pytest.raises(TamperingFound, match="damaged") as caught:
            ledger.verify()
        said = str(caught.value)
    assert "entry" in caught.value.got
    assert "canary" not in said


def test_a_connection_that_the_server_closed_is_made_anew(server: Server, address: str) -> None:
    with Ledger.open(address) as ledger:
        for call in (ledger.verify, lambda: add(ledger)):
            with server.connect() as owner:
                owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'releasegate'"
                )
            call()
        assert ledger.verify() == 41


def test_a_connection_lost_within_a_transaction_leaves_none_of_it(server: Server, address: str) -> None:
    with Ledger.open(address) as ledger:

        def cut_off() -> None:
            with ledger.transaction():
                add(ledger)
                with server.connect() as owner:
                    owner.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'releasegate'"
                    )
                add(ledger)

        with pytest.raises(WorkspaceError, match="cannot be used"):
            cut_off()
        assert ledger.verify() == 40


def test_a_user_who_may_only_read_and_insert_suffices(server: Server, raw: Raw, address: str) -> None:
    raw.execute(
        f"CREATE ROLE gate_{database_of(address)} LOGIN PASSWORD 'x'",
        f"GRANT USAGE ON SCHEMA releasegate TO gate_{database_of(address)}",
        f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA releasegate TO gate_{database_of(address)}",
    )
    gate = server.address(database_of(address), user=f"gate_{database_of(address)}", password="x")
    with Ledger.open(gate, create=False) as ledger:
        add(ledger)
        assert ledger.verify() == 41
    raw.execute(f"REVOKE INSERT ON entry FROM gate_{database_of(address)}")
    with Ledger.open(gate, create=False) as ledger, pytest.raises(WorkspaceError, match="lacks a permission"):
        add(ledger)


def test_a_database_that_cannot_hold_every_character_is_refused(server: Server) -> None:
    address = server.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    assert "encoding UTF8" in told(address)


def test_another_table_of_that_name_is_refused_and_left_alone(server: Server) -> None:
    address = server.new_database()
    with server.connect(database_of(address)) as owner:
        owner.execute("CREATE SCHEMA releasegate")
        owner.execute("CREATE TABLE releasegate.entry (name text)")
        with pytest.raises(TamperingFound, match="not a ledger"):
            Ledger.open(address)
        assert owner.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'releasegate'").fetchone() == (1,)


def test_a_ledger_of_another_version_is_refused(raw: Raw, address: str) -> None:
    raw.execute("UPDATE ledger_format SET version = 3")
    assert "another version" in told(address)


def test_a_read_only_database_says_so(raw: Raw, address: str) -> None:
    raw.execute(f"ALTER DATABASE {database_of(address)} SET default_transaction_read_only = on")
    with Ledger.open(address) as ledger:
        assert ledger.verify() == 40
        add(ledger)  # a default alone does not stop a writer that says what it wants
        assert ledger.verify() == 41


def test_a_dump_is_restored_with_its_guards(server: Server, address: str, tmp_path: Path) -> None:
    folder = binaries()
    if folder is None or not (folder / "pg_dump").exists():
        pytest.skip("no pg_dump here")
    environment = {"PGPASSWORD": PASSWORD, "PGHOST": str(server.folder), "PGUSER": "steward"}
    dump, restored = tmp_path / "ledger.dump", server.new_database()
    with Ledger.open(address) as ledger:
        head = ledger.head()
    for line in (
        [folder / "pg_dump", "--schema=releasegate", "--format=custom", f"--file={dump}", database_of(address)],
        [folder / "pg_restore", "--single-transaction", f"--dbname={database_of(restored)}", dump],
    ):
        subprocess.run(line, env=environment, check=True, capture_output=True)
    with Ledger.open(restored, create=False) as ledger:
        assert ledger.verify(Checkpoints({head.sequence: head.sha256})) == 40
        add(ledger)
        assert ledger.verify() == 41
