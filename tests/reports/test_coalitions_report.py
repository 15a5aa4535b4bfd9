"""What a determination says of coalitions."""

from tasks.assessments.identity.facts import CoalitionFact
from tests.reports.test_played_against_report import SHARING, document
from tests.support import records

RECIPIENT = records.approved().recipient.id
SEEN = CoalitionFact(
    recipients=(RECIPIENT, "insurer"),
    narrowed_share=0.25,
    smallest_group=76,
    maximum_risk=1 / 76,
    attacked_share=0.0,
    expected_reidentifications=12.345,
    mean_reidentification=0.00123,
    maximum_reidentification=1 / 76,
)


def test_no_word_where_nobody_colludes() -> None:
    assert not any("coalition" in text.lower() for text in document().values())


def test_what_a_coalition_sees_and_what_gates_judge() -> None:
    told = document(coalitions=(SEEN,))
    assert "insurer 76 0% 12.35 0.00123 0.01316" in told["transparency"]
    assert "The gates judge the worst of the copy alone and of this;" in told["transparency"]
    assert "what coalitions see (section E11.1)" in told["gates"]
    assert "the same, with the copies of others (coalition)" in told["judged"]


def test_a_small_group_is_not_counted_out() -> None:
    third = SEEN.model_copy(update={"recipients": (RECIPIENT, "clinic"), "smallest_group": 9})
    assert "clinic <11" in document(coalitions=(SEEN, third))["transparency"]


def test_the_assumptions_follow_from_who_may_pool_copies() -> None:
    unbounded, own_stakes = "No figure here bounds that", "two copies may differ"
    alone = document()["limitations"]
    assert "Copies are not pooled" in alone
    assert unbounded in alone
    assert own_stakes in alone
    judged = document(coalitions=(SEEN,))["limitations"]
    assert f"Recipients who may pool their copies are {RECIPIENT}, insurer." in judged
    assert "The gates judge the worst of this copy alone and of all of these copies together" in judged
    assert unbounded not in judged
    assert "Copies are not pooled" not in judged
    third = SEEN.model_copy(update={"recipients": (RECIPIENT, "clinic")})
    pairs = document(coalitions=(SEEN, third))["limitations"]
    assert f"are {RECIPIENT}, insurer, clinic." in pairs
    assert "and of any two of these copies together" in pairs
    shared = document(sharing=SHARING)["limitations"]
    assert "One representation was chosen for university, insurer: their copies have the same groups" in shared
    assert own_stakes not in shared
    assert unbounded in shared
