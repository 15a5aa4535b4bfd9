"""What a determination says of whom its game was played against."""

from typing import Any

from tasks.assessments.identity.facts import CoalitionFact, SharingFact
from tasks.decision.record import DecisionRecord
from tests.support import records, texts
from tests.support.rendered import determination_html

SHARING = SharingFact(
    recipients={"university": 1.0, "insurer": 1.0},
    own={"university": 1146.25, "insurer": 1000.5},
    shared=2100.5,
    price=46.25,
)


def document(left_out: int = 0, coalitions: tuple[CoalitionFact, ...] = (), **game: Any) -> dict[str, str]:
    record: DecisionRecord = records.approved()
    assert record.risk is not None
    prosecutor = record.risk.residual.prosecutor.model_copy(update={"records": record.dataset.rows_in - left_out})
    residual = record.risk.residual.model_copy(update={"prosecutor": prosecutor})
    generalization = record.risk.game.model_copy(update=game)
    changed = record.risk.model_copy(update={"game": generalization, "residual": residual, "coalitions": coalitions})
    found = texts.sections(determination_html(records.changed(record, risk=changed)))
    return {name: " ".join(text.split()) for name, text in found.items()}


def section(**game: Any) -> str:
    return document(**game)["method"]


def test_one_attempt_for_one_recipient_needs_no_word() -> None:
    text = section()
    assert "plans (" not in text
    assert "One representation" not in text


def test_a_recipient_who_plans() -> None:
    assert "The recipient of this game is a sequential adversary (sequential, access shared)" in section(
        adversary="sequential, access shared"
    )


def test_the_assumptions_say_who_attempts_once() -> None:
    single = "the marketer and the informed recipient attempt each record once"
    assert any(single in text for text in document().values())
    planned = document(adversary="sequential, access shared").values()
    assert not any(single in text for text in planned)
    assert any("The informed recipient plans, and so chooses what is attacked." in text for text in planned)


def test_what_sharing_brings_and_what_each_would() -> None:
    text = section(sharing=SHARING)
    assert "chosen for 2 recipients who all receive it" in text
    assert "Summed over them it is 2,100.50 units per record; a representation for each would bring 2,146.75" in text
    types = SHARING.model_copy(update={"recipients": {"university": 0.5, "insurer": 0.5}, "price": None})
    text = section(sharing=types)
    assert "of whom exactly one is to receive it" in text
    assert "would bring" not in text


def test_exact_payoffs_would_tell_how_few_are_left_out() -> None:
    text = document(left_out=4, sharing=SHARING)["method"]
    assert "chosen for 2 recipients" in text
    assert "2,100.50" not in text
    assert "2,146.75" not in text
