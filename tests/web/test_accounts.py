"""Accounts: kept as hashes, refused where they cannot be trusted, and managed from the command line."""

import io
import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from argon2 import PasswordHasher
from typer.testing import CliRunner

import flows.cli.account
import flows.people.accounts
from flows.cli.app import app
from flows.people.account import Duty
from flows.people.accounts import HASHER, Accounts
from flows.workspace.folders import Workspace, open_workspace
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.people import WorkflowRole
from tests.support.enrolled import enrol_people
from tests.support.pages import holder
from tests.support.search import files_holding

WORDS = "plain horses stack staples"
OTHERS = "other horses stack staples"

pytestmark = pytest.mark.usefixtures("quick_hashes")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "workspace")


@pytest.fixture
def accounts(workspace: Workspace) -> Accounts:
    made = Accounts(workspace)
    made.add("Okafor", holder("Mary Okafor", Duty.REVIEWER), [Duty.REVIEWER], WORDS)
    return made


def test_a_password_is_kept_as_an_argon2id_hash_in_a_private_file(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows.people.accounts, "HASHER", HASHER)
    accounts = Accounts(workspace)
    accounts.add("Okafor", holder("Mary Okafor", Duty.REVIEWER), [Duty.REVIEWER], WORDS)
    path = workspace.private / "accounts.json"
    assert path.stat().st_mode & 0o777 == 0o600
    (stored,) = json.loads(path.read_text())["accounts"]
    assert stored["password"].startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert stored["login"] == "okafor"
    assert files_holding(workspace.root, WORDS) == []
    assert WORDS not in repr(accounts.all())
    assert stored["password"] not in repr(accounts.all())


def test_only_the_right_password_of_the_right_account_signs_in(accounts: Accounts) -> None:
    accounts.add("proxied", holder("Lise Sand", Duty.REVIEWER), [Duty.REVIEWER], None)
    found = accounts.check("OKAFOR", WORDS)
    assert found is not None
    assert found.name == "Mary Okafor"
    assert accounts.check("okafor", OTHERS) is None
    assert accounts.check("nobody", WORDS) is None
    assert accounts.check("proxied", "") is None


def test_it_takes_the_same_work_whether_or_not_there_is_an_account(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
            tried.append(str(hash).rsplit("$", 2)[0])
            return super().verify(hash, password)

    monkeypatch.setattr(flows.people.accounts, "HASHER", Counting(time_cost=1, memory_cost=8, parallelism=1))
    accounts.add("proxied", holder("Lise Sand", Duty.REVIEWER), [Duty.REVIEWER], None)
    for login in ("okafor", "nobody", "proxied"):
        assert accounts.check(login, OTHERS) is None
    assert len(tried) == 3
    assert len(set(tried)) == 1, "with the same parameters"


def test_a_password_may_be_typed_in_either_form_of_a_letter(accounts: Accounts) -> None:
    accounts.set_password("okafor", "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve horses stack")
    assert accounts.check("okafor", "nai\N{COMBINING DIAERESIS}ve horses stack") is not None


def test_a_weaker_hash_is_made_anew_at_sign_in(
    workspace: Workspace, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workspace.private / "accounts.json"
    assert "$m=8,t=1,p=1$" in path.read_text()
    monkeypatch.setattr(flows.people.accounts, "HASHER", PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
    assert accounts.check("okafor", OTHERS) is None
    assert "$m=8,t=1,p=1$" in path.read_text()
    assert accounts.check("okafor", WORDS) is not None
    assert "$m=16,t=2,p=1$" in path.read_text()
    assert accounts.check("okafor", WORDS) is not None


def test_another_password_changes_the_stamp(accounts: Accounts) -> None:
    before = accounts.all()[0].stamp
    after = accounts.set_password("okafor", OTHERS)
    assert after.stamp != before
    assert accounts.check("okafor", WORDS) is None


@pytest.mark.parametrize(
    ("login", "name", "duties", "password", "where"),
    [
        ("../etc", "Ana", [Duty.OFFICER], WORDS, "LOGIN"),
        ("", "Ana", [Duty.OFFICER], WORDS, "LOGIN"),
        ("x" * 65, "Ana", [Duty.OFFICER], WORDS, "LOGIN"),
        ("ana", "Ana", [], WORDS, "--role"),
        ("ana", "Ana", [Duty.OFFICER], "fourteen chars", "password"),
        ("ana", "Ana", [Duty.OFFICER], "x" * 257, "password"),
        ("okafor", "Ana", [Duty.OFFICER], WORDS, "okafor"),
        ("ana", "mary  OKAFOR", [Duty.OFFICER], WORDS, "okafor"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_account_is_refused(  # noqa: PLR0917
    accounts: Accounts, login: str, name: str, duties: list[Duty], password: str, where: str
) -> None:
    with pytest.raises(BadInput) as caught:
        accounts.add(login, holder(name, *duties), duties, password)
    assert caught.value.where == where
    assert password not in str(caught.value)
    assert len(accounts.all()) == 1


def test_an_account_has_no_role_that_its_holder_is_not_enrolled_in(accounts: Accounts) -> None:
    with pytest.raises(BadInput, match="not enrolled as officer"):
        accounts.add("ana", holder("Ana Ruiz", Duty.REVIEWER), [Duty.REVIEWER, Duty.OFFICER], WORDS)


def test_a_file_that_others_may_read_signs_nobody_in(workspace: Workspace, accounts: Accounts) -> None:
    (workspace.private / "accounts.json").chmod(0o640)
    with pytest.raises(WorkspaceError, match="cannot be trusted"):
        accounts.check("okafor", WORDS)


def test_a_damaged_file_signs_nobody_in_and_is_not_quoted(workspace: Workspace, accounts: Accounts) -> None:
    (workspace.private / "accounts.json").write_text('{"accounts": [{"login": "secretcanary"}]}')
    with pytest.raises(WorkspaceError) as caught:
        accounts.all()
    assert "canary" not in str(caught.value)


def run(*arguments: str, given: str = "") -> Any:
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["account", *arguments], input=given, catch_exceptions=True)


def test_accounts_are_managed_from_the_command_line(workspace: Workspace) -> None:
    place = ["--workspace", str(workspace.root)]
    adding = ("add", "ana", "--person", "ana.ruiz", "--role", "officer", *place)
    assert isinstance(run(*adding, given=WORDS + "\n").exception, BadInput), "nobody is enrolled"
    enrol_people(workspace, {"Ana Ruiz": [WorkflowRole.OFFICER], "L. Sand": [WorkflowRole.REVIEWER]})
    made = run(*adding, given=WORDS + "\n")
    assert made.exit_code == 0
    assert WORDS not in made.output
    assert run("add", "lise", "--person", "L. Sand", "--role", "regulator", "--by-proxy", *place).exit_code == 0
    assert Accounts(workspace).check("ana", WORDS) is not None
    assert run("password", "ana", *place, given=OTHERS + "\n").exit_code == 0
    assert Accounts(workspace).check("ana", OTHERS) is not None
    listed = json.loads(run("list", "--json", *place).output)["accounts"]
    assert [(one["login"], one["roles"], one["by_proxy"]) for one in listed] == [
        ("ana", ["officer"], False),
        ("lise", ["regulator"], True),
    ]
    assert run("remove", "ana", *place).exit_code == 0
    assert [one.login for one in Accounts(workspace).all()] == ["lise"]
    assert isinstance(run("remove", "ana", *place).exception, BadInput)


def test_no_command_takes_a_password_as_an_argument(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("add", "password"):
        page = run(command, "--help").output
        assert not re.search(r"--pass\w*", page)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(BadInput, match="a password is needed"):
        flows.cli.account.password("ana", workspace.root)
