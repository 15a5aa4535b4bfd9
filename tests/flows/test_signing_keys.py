"""``releasegate key create``, ``list``, ``retire``: a file of the holder's, an entry of the ledger, and no secret."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from flows.people.signing import PASSPHRASE, key_file_of, signer_of
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import WorkspaceError
from tasks.core.people import WorkflowRole
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.enrolled import but_enrolments, enrol_people

SECRET = "quoll marmot ibex saiga"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(PASSPHRASE, SECRET)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made = tmp_path / "workspace"
    everything = [WorkflowRole.REVIEWER, WorkflowRole.OFFICER]
    enrol_people(open_workspace(made), dict.fromkeys(("Ana Ré", "Cleo", "Ben"), everything))
    return made


@pytest.fixture
def key(root: Path, releasegate: Any) -> Any:
    return lambda *arguments: releasegate("key", *arguments, "--workspace", root)


def events(root: Path) -> list[Event]:
    with open_ledger(Workspace(root)) as ledger:
        ledger.verify()
        return [entry.event for entry in but_enrolments(ledger)]


def test_a_key_is_made_registered_listed_and_retired(root: Path, key: Any, releasegate: Any) -> None:
    made = key("create", "Ana Ré", "--role", "reviewer", "--role", "officer", "--json").document
    path = Path(made["key_file"])
    assert path == Path(os.environ["HOME"]) / ".releasegate" / "ana-r.pem" == key_file_of("Ana Ré")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (made["name"], made["roles"], made["registered"], made["retired"]) == (
        "Ana Ré", ["officer", "reviewer"], 2, None,
    )  # fmt: skip
    listed = key("list")
    assert made["fingerprint"] in listed.out
    assert "from 2" in listed.out
    with open_ledger(Workspace(root)) as ledger:
        (entry,) = but_enrolments(ledger)
        assert (entry.event, entry.signer) == (Event.KEY_REGISTERED, "Ana Ré")
        signer = signer_of(ledger, "ana ré", None, pytest.fail)
        assert signer is not None
        assert signer.public_key == made["public_key"]
        assert signer_of(ledger, "Ben", None, pytest.fail) is None
    verified = releasegate("verify", "ledger", "--anchor", made["fingerprint"], "-w", root, "--json").document
    assert (verified["entries"], verified["keys"]) == (2, 1)

    assert "in ledger entry 3" in key("retire", "ANA RÉ").out
    assert key("list", "--json").document["keys"][0]["retired"] == 3
    assert "no person of this name" in key("retire", "Ana Ré").err
    again = key("create", "Ana Ré", "--role", "reviewer", "--key-file", root.parent / "second.pem")
    assert again.code == 0, again.err
    assert events(root) == [Event.KEY_REGISTERED, Event.KEY_RETIRED, Event.KEY_REGISTERED]


def test_nothing_tells_the_passphrase_or_the_private_key(root: Path, key: Any) -> None:
    told = [key("create", "Cleo", "--role", "reviewer"), key("create", "Cleo", "--role", "reviewer"), key("list")]
    with open_ledger(Workspace(root)) as ledger:
        signer = signer_of(ledger, "Cleo", None, pytest.fail)
    assert signer is not None
    said = "".join(one.out + one.err for one in told).encode()
    stored = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    for secret in (SECRET.encode(), signer.key.private_bytes_raw()):
        assert secret not in said + stored + key_file_of("Cleo").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "Cleo", "--role", "gate"), "is not one of"),
        (("create", "Cleo"), "Missing option"),
        (("create", " ", "--role", "reviewer"), "not enrolled as reviewer"),
        (("create", "Dora", "--role", "reviewer"), "not enrolled as reviewer"),
        (("create", "Cleo", "--role", "requester"), "not enrolled as requester"),
        (("retire", "Cleo"), "no person of this name"),
    ],
)
def test_a_misused_command(key: Any, root: Path, arguments: tuple[str, ...], words: str) -> None:
    told = key(*arguments)
    assert told.code == 2
    assert words in told.err
    assert ("releasegate key create" in told.err) == (words in ("is not one of", "Missing option"))
    assert events(root) == []


def test_one_key_a_person(root: Path, key: Any) -> None:
    assert key("create", "Cleo", "--role", "reviewer").code == 0
    second = key("create", "CLEO", "--role", "officer", "--key-file", root.parent / "second.pem")
    assert second.code == 2
    assert "in force for this name" in second.err
    assert not (root.parent / "second.pem").exists()


def test_a_key_whose_file_cannot_be_written_is_not_registered(root: Path, key: Any) -> None:
    key_file_of("Cleo").parent.mkdir(parents=True)
    key_file_of("Cleo").write_text("somebody's")
    told = key("create", "Cleo", "--role", "reviewer")
    assert told.code == 2
    assert "a file of this name already exists" in told.err
    assert key_file_of("Cleo").read_text() == "somebody's"
    assert events(root) == []


def test_a_key_that_cannot_be_registered_leaves_no_file(root: Path, key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of the ledger is full when the transaction ends."""

    def full(*_: object, **__: object) -> None:
        raise WorkspaceError("the ledger cannot be used")

    monkeypatch.setattr(Ledger, "append", full)
    assert key("create", "Cleo", "--role", "reviewer").code == 2
    assert not key_file_of("Cleo").exists()
    monkeypatch.undo()
    assert events(root) == []


@pytest.mark.parametrize(("passphrase", "words"), [("short", "too short"), ("", "the passphrase of the key is needed")])
def test_a_passphrase_is_needed(
    root: Path, key: Any, passphrase: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSPHRASE, passphrase)
    told = key("create", "Cleo", "--role", "reviewer")
    assert told.code == 2
    assert words in told.err
    assert not key_file_of("Cleo").exists()
    assert events(root) == []


def test_another_private_key_does_not_sign(root: Path, key: Any) -> None:
    key("create", "Cleo", "--role", "reviewer")
    key("create", "Ben", "--role", "reviewer")
    with open_ledger(Workspace(root)) as ledger, pytest.raises(WorkspaceError, match="not the registered one"):
        signer_of(ledger, "Cleo", key_file_of("Ben"), pytest.fail)


def test_anchors_and_fingerprints_that_do_not_fit(root: Path, key: Any, releasegate: Any) -> None:
    key("create", "Cleo", "--role", "reviewer")
    with open_ledger(Workspace(root)) as ledger:
        head = ledger.head()
    verify = ("verify", "ledger", "-w", root)
    assert releasegate(*verify, "--anchor", f"2:{head.sha256}").code == 0
    assert releasegate(*verify, "--anchor", f"3:{head.sha256}").code == 3
    assert releasegate(*verify, "--anchor", "0" * 64).code == 3
    assert releasegate(*verify, "--anchor", "0").code == 2
    assert releasegate(*verify, "--anchor", head.sha256).code == 3
    assert releasegate("verify", root, "--anchor", f"1:{head.sha256}").code == 2
