"""A release that is refused when it is about to be recorded: nothing is decided, and no file of it is left."""

from typing import Any

import pytest

import flows.gate.publishing
from flows.workspace.ledger import open_ledger
from tasks.core.errors import StageFailed
from tasks.ledger.entry import Event
from tasks.request.inputs import read_inputs
from tasks.request.load import load_request
from tests.support.search import files_holding
from tests.support.world import NOW, SENSITIVE_MARK, UNIVERSITY, World

OTHER = "a" * 64


def test_copies_that_give_decoys_away_may_leave_while_the_gate_is_at_work(engine: Any, world: World) -> None:
    loaded = load_request(world.ask(recipients=[UNIVERSITY]))
    asked = {"dataset_sha256": read_inputs(loaded).dataset_sha256, "decoys": True, "continues": None}
    seal = flows.gate.publishing.seal

    def meanwhile(*given: Any) -> Any:
        with open_ledger(world.workspace) as ledger:
            for event, body in ((Event.REQUESTED, asked), (Event.RELEASED, {"output_sha256": "0" * 64})):
                ledger.append(event, release_id=OTHER, recipient="clinic", actor="x", body=body, at=NOW)
        return seal(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "seal", meanwhile)
        with pytest.raises(StageFailed, match="give decoys away"):
            world.run(engine)
    with open_ledger(world.workspace) as ledger:
        assert [entry.release_id for entry in ledger.entries(event=Event.RELEASED)] == [OTHER]
        assert ledger.entries(event=Event.DECIDED) == ()
    assert list(world.workspace.releases.iterdir()) == []
    assert files_holding(world.workspace.root, SENSITIVE_MARK) == []


def test_nothing_is_kept_sealed_for_a_release_that_was_not_decided(engine: Any, world: World) -> None:
    world.ask(recipients=[UNIVERSITY], policy={"review": {"required": 1, "reviewers": ["M. Okafor"]}})

    def refuse(*_: object) -> None:
        raise StageFailed("refused")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "check_unused", refuse)
        with pytest.raises(StageFailed, match="refused"):
            world.run(engine)
    private = world.workspace.private
    assert [path for name in ("pending", "staging", "runs") for path in (private / name).glob("*/*")] == []
    assert not world.run(engine).repeated
    assert len(list(private.glob("pending/*/*.sealed"))) == 1
