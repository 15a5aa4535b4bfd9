"""A policy that asks for the expert's signature: what people read before it, and that votes wait for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import flows.workspace.actor
from flows.actions.expert_signature import sign_determination
from flows.releases.cases import ReleaseAction
from tasks.core.errors import RequestError
from tasks.decision.standing import AWAITING_SIGNATURE
from tasks.request.load import load_request
from tests.support.certificates import pki
from tests.support.world import NOW, make_world

REVIEWER = "M. Okafor"
LATER = NOW + timedelta(hours=3)


class Later(datetime):
    """The clock of the commands."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return LATER.astimezone(tz or UTC)


@pytest.mark.slow
def test_votes_wait_for_the_signature_and_everything_says_so(
    engine: Any, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    world = make_world(tmp_path / "world")
    world.ask(policy={"review": {"required": 1, "reviewers": [REVIEWER], "expert_signs": True}})
    made = world.run(engine)
    monkeypatch.setattr(flows.workspace.actor, "datetime", Later)
    place = ("--workspace", world.workspace.root)
    voting = ("review", made.release_id, *place, "--vote", "approve", "--as", REVIEWER, "--reason", "in order")
    day = NOW.date().isoformat()

    def audited(name: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        assert releasegate("audit", "--from", day, "--to", day, "--output", folder, *place).code == 0
        (page,) = folder.rglob("audit.json")
        return str(page.read_text())

    assert made.records[0].reasons == ("All 12 gates passed; the expert's signature and 1 review are still needed.",)
    told = releasegate("release", world.request, *place)
    assert told.code == 4
    assert f"{AWAITING_SIGNATURE.upper()}  university" in told.out
    assert "votes wait for the expert's signature: releasegate sign" in told.out
    assert "votes cast" not in told.out
    assert "APPROVED" not in told.out
    assert AWAITING_SIGNATURE.upper() in releasegate("review", made.release_id, *place).out
    refused = releasegate(*voting)
    assert refused.code == 3
    assert "takes no votes before the expert has signed" in refused.err
    assert AWAITING_SIGNATURE in releasegate("verify", made.bundle, *place).out
    assert AWAITING_SIGNATURE in audited("before")
    assert not (made.bundle / "delivery" / "university").exists()

    action = ReleaseAction(made.release_id, world.workspace, recipient="university", clock=lambda: LATER)
    sign_determination(action, pki().credentials)
    told = releasegate("release", world.request, *place, "--json")
    (university,) = told.document["recipients"]
    assert (told.code, university["state"], university["awaits_signature"]) == (4, "awaiting review", False)
    assert "AWAITING REVIEW" in releasegate("review", made.release_id, *place).out
    assert releasegate(*voting).code == 0
    assert (made.bundle / "delivery" / "university").exists()
    assert releasegate("verify", made.bundle, *place, "--json").document["states"]["university"] == "released"


def test_a_signature_without_anybody_who_votes_is_refused(tmp_path: Any) -> None:
    world = make_world(tmp_path / "world")
    with pytest.raises(RequestError) as caught:
        load_request(world.ask(policy={"review": {"expert_signs": True}}))
    assert "a determination that the expert must sign is voted on once it is signed" in str(caught.value)
