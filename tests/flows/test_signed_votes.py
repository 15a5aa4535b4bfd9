"""A policy that asks for signed votes; what a request rests on, in the ledger; reviewers without an account."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import flows.people.accounts
import flows.workspace.actor
from flows.library.catalogue import Library
from flows.people.account import Duty
from flows.people.accounts import Accounts, without_account
from flows.people.signing import PASSPHRASE as VARIABLE
from flows.workspace.ledger import open_ledger
from tasks.core.errors import RequestError
from tasks.core.files import file_sha256
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Event
from tasks.request.load import load_request
from tests.support.pages import PASSPHRASE, PASSWORD, QUICK
from tests.support.world import NOW, make_world

REVIEWER = "M. Okafor"
LATER = NOW + timedelta(hours=3)


class Later(datetime):
    """The clock of the commands."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return LATER.astimezone(tz or UTC)


def test_votes_are_refused_without_a_signature_where_the_policy_says_so(
    engine: Any, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world = make_world(tmp_path / "world")
    world.ask(policy={"review": {"required": 1, "reviewers": [REVIEWER], "signed_votes": True}})
    made = world.run(engine)
    monkeypatch.setattr(flows.workspace.actor, "datetime", Later)
    place = ("--workspace", world.workspace.root)
    voting = ("review", made.release_id, *place, "--vote", "approve", "--as", REVIEWER, "--reason", "in order")
    refused = releasegate(*voting)
    assert refused.code == 2
    assert "the policy requires signed votes" in refused.err
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    monkeypatch.setenv("RELEASEGATE_KEY_FILE", str(tmp_path / "okafor.pem"))
    public = tmp_path / "okafor.public.json"
    assert releasegate("key", "make", REVIEWER, "--role", "reviewer", "--key-file", tmp_path / "okafor.pem").code == 0
    assert releasegate("key", "register", REVIEWER, public, *place).code == 0
    assert releasegate(*voting).code == 0
    assert releasegate("verify", "ledger", *place).code == 0
    assert releasegate("verify", made.bundle, *place).code == 0
    shown = releasegate("review", made.release_id, *place).out
    assert f"{REVIEWER} votes to approve: “in order”" in shown

    with open_ledger(world.workspace) as ledger:
        (asked,) = ledger.entries(event=Event.REQUESTED)
    loaded = load_request(world.request)
    data = loaded.resolve(loaded.request.dataset.path, "dataset.path")
    assert file_sha256(data) in asked.body["rests_on"]  # type: ignore[operator]
    used = {(one.kind, one.used) for one in Library.of(world.workspace).items}
    assert {kind for kind, places in used if (made.release_id, "university") in places} >= {"policy", "population"}

    monkeypatch.setattr(flows.people.accounts, "HASHER", QUICK)
    assert "without an account" not in releasegate("check", world.request, *place).err, "the page has no accounts"
    other = EnrolledPerson(id="jan.brandt", name="Jan Brandt")
    Accounts(world.workspace).add("brandt", other, [Duty.REGULATOR], PASSWORD)
    checked = releasegate("check", world.request, *place)
    assert f"reviewers without an account of the page: {REVIEWER};" in checked.err
    assert releasegate("check", world.request, *place, "--json").document["without_account"] == [REVIEWER]
    with open_ledger(world.workspace) as ledger:
        directory = Directory.of(ledger)
    okafor = directory.person(REVIEWER)
    assert okafor is not None
    Accounts(world.workspace).add("okafor", okafor, [Duty.REVIEWER], PASSWORD)
    found = without_account(Accounts(world.workspace).all(), directory, [REVIEWER, okafor.id, "nobody.enrolled"])
    assert found == ("nobody.enrolled",)


def test_signed_votes_without_anybody_who_votes_are_refused(tmp_path: Path) -> None:
    world = make_world(tmp_path / "world")
    with pytest.raises(RequestError, match="votes that must be signed are votes of a review"):
        load_request(world.ask(policy={"review": {"signed_votes": True}}))


def test_terms_that_are_new_leave_enrolled_policies_as_they_were(tmp_path: Path) -> None:
    """A policy without the term has the canonical JSON of before, and the digest that it was enrolled by."""
    world = make_world(tmp_path / "world")
    assert "signed_votes" not in load_request(world.request).request.policy.model_dump_json()
