"""What a determination says of copies that may be laid beside each other."""

from tasks.decision.record import CopiesFact, HandFact
from tests.reports.test_played_against_report import document
from tests.support import records

RECIPIENT = records.approved().recipient.id
HAND = HandFact(
    recipients=(RECIPIENT, "insurer"),
    probability=0.1,
    narrowed_share=0.25,
    claimed_smallest_group=80,
    smallest_group=76,
    maximum_risk=1 / 76,
    attacked_share=0.0,
    attacked_records=0,
    claimed_attacked_share=0.0,
    expected_reidentifications=12.345,
    mean_reidentification=0.00123,
    maximum_reidentification=1 / 76,
)
COLLUSION = CopiesFact(
    recipients=(RECIPIENT, "insurer"),
    probability=0.1,
    who="everybody",
    hands=(HAND,),
    payoff=2100.5,
    own={RECIPIENT: 1146.25, "insurer": 1000.5},
    own_under_collusion=2050.25,
    shared=2080.75,
)


def test_no_word_where_nobody_colludes() -> None:
    assert not any("beside each other" in text for text in document().values())


def test_what_a_hand_sees_and_what_gates_judge() -> None:
    told = document(collusion=COLLUSION)
    text = told["transparency"]
    assert "with a probability of 10% they lay their copies beside each other" in text
    assert "insurer 10% 76 0% 12.35 0.00123 0.01316" in text
    assert "The gates judge the worst of the copy alone and of this, however improbable" in text
    assert "The gates judge the right-hand column, and what copies beside each other show." in text
    assert (
        "The copies of both recipients together pay 2,100.50 units a record; each recipient's own optimum would pay "
        "2,146.75 if nobody colluded, and 2,050.25 as it is; one representation for all would pay 2,080.75."
    ) in text
    assert "the worst of this copy alone and of what copies beside each other show (section 13.1)" in told["gates"]
    assert "who has others' copies as well" in told["decision"]
    assert "chosen together with those of 1 other recipient who may lay copies beside it" in told["method"]


def test_pairs_and_what_cannot_be_had() -> None:
    third = HAND.model_copy(update={"recipients": (RECIPIENT, "clinic"), "smallest_group": 9})
    update = {"who": "one pair", "hands": (HAND, third), "own": {"insurer": None}, "shared": None}
    text = document(collusion=COLLUSION.model_copy(update=update))["transparency"]
    assert "one pair of them, each as likely, lays its copies beside each other" in text
    assert "clinic 10% <11" in text, "a small group is not counted out"
    assert "together pay 2,100.50 units a record. " in text + " "


def test_exact_payoffs_would_tell_how_few_are_left_out() -> None:
    assert "2,100.50" not in document(left_out=4, collusion=COLLUSION)["transparency"]
