"""What members of a board found contradictory or missing in a determination, each said where it is needed."""

from typing import Any

import pytest

from reports.model.record_view import RecordView
from reports.sections.answer import usefulness
from reports.sections.study import kept_associations
from reports.sections.summary import demanded
from tasks.assessments.utility.facts import AssociationFact, MarginalFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure, PopulationBasis, Role
from tests.reports.test_budget_report import BUDGET
from tests.reports.test_left_out_report import left_out
from tests.support import records, texts
from tests.support.rendered import determination_html, evidence_html


def page(record: DecisionRecord, section: str = "decision") -> str:
    return " ".join(texts.sections(determination_html(record))[section].split())


def with_risk(record: DecisionRecord, **changes: Any) -> DecisionRecord:
    assert record.risk is not None
    return records.changed(record, risk=record.risk.model_copy(update=changes))


def few_left_out(number: int) -> DecisionRecord:
    """A record with so few records left out, whom every attack that took all of the copy was made without."""
    record = left_out(number)
    assert record.risk is not None
    fact = record.risk.linkage
    assert fact is not None
    attacks = tuple(
        one.model_copy(update={"figure": one.figure.model_copy(update={"people": records.ROWS - number})})
        for one in fact.attacks
    )
    linkage = fact.model_copy(update={"records": records.ROWS - number, "attacks": attacks})
    return with_risk(record, linkage=linkage)


@pytest.mark.parametrize("number", [1, 6, 10])
def test_few_records_left_out_do_not_follow_from_the_people_attacked(number: int) -> None:
    """32,561 came in: any figure of those that left would tell the rest."""
    shown = texts.seen(evidence_html(few_left_out(number)))
    assert "all, >32,550" in shown
    assert "looks in the more than 32,550 released records" in shown
    assert f"{records.ROWS - number:,}" not in shown
    assert f"all, {records.ROWS - 11:,}" in texts.seen(evidence_html(few_left_out(11)))


def test_information_kept_of_a_column_is_coarse_where_few_are_left_out() -> None:
    """It is a mean over the records that left, and the page beside it has one over those that came in."""
    exact, few = (page(record, "loss") for record in (records.approved(), left_out(4)))
    kept = next(one.information_kept for one in records.approved().fields if one.name == "age")
    assert kept is not None
    assert f"age {kept:.2%} " in exact
    assert f"age about {kept:.1%} " in few
    whole = tuple(
        one.model_copy(update={"information_kept": 1.0}) if one.name == "age" else one for one in left_out(4).fields
    )
    assert "age 100% " in page(records.changed(left_out(4), fields=whole), "loss")


def test_columns_that_leave_as_collected_are_named_only_where_there_are_some() -> None:
    record = records.approved()
    told = page(record, "loss")
    others = [one.name for one in record.fields if one.released and one.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    unchanged = [name for name in others if name not in RecordView(record).masked]
    assert f"The other {len(unchanged)} columns leave as they were collected." in told

    def keeping(*names: str) -> str:
        fields = tuple(one for one in record.fields if one.role == Role.QUASI or one.name in names)
        return page(records.changed(record, fields=fields), "loss")

    assert f"{unchanged[0]} and {unchanged[1]} leave as collected." in keeping(*unchanged[:2])
    assert f"{unchanged[0]} leaves as collected." in keeping(unchanged[0])
    nothing = keeping()
    assert "collected. Section E13" not in nothing
    assert "Section E13 compares analyses of both files." in nothing


def test_groups_smaller_than_those_on_which_a_single_attempt_pays_are_explained_by_the_penalty() -> None:
    record = records.approved()
    assert record.risk is not None
    small = record.risk.transparent.model_copy(update={"maximum_risk": 1 / 12})
    told = demanded(RecordView(with_risk(record, transparent=small)), "at the amounts")
    assert told is not None
    assert (
        "By gain and cost alone, a single attempt pays below 75 people (it costs 4.00 and gains 300.00 if it names the "
        "right one); the penalty of 2,000.00 and its chance of 0.005 deter from that, so that smaller groups suffice."
    ) in told
    assert "at the amounts a single attempt" not in told
    undeterred = demanded(RecordView(record), "at the amounts")
    assert undeterred is not None
    assert "at the amounts a single attempt pays below 75 people" in undeterred
    assert "deter from that" not in undeterred
    deterred = page(with_risk(record, transparent=small))
    assert "the penalty, a single attempt would pay in groups of fewer than 75, and repeated ones in larger" in deterred
    assert "without the penalty" not in page(record)
    collected = "None pays on the data as collected either, so that other limits alone protect here."
    assert collected not in page(record)
    assert record.risk.sequential is not None
    paying_never = record.risk.sequential.model_copy(update={"initial": record.risk.sequential.residual})
    assert collected in page(with_risk(record, sequential=paying_never))


def test_the_associations_of_what_counts_most_with_outcomes_stand_beside_those_as_collected() -> None:
    """The strongest first, none of a column that counts less; – for one that could not be measured as collected."""
    measured = tuple(
        AssociationFact(attributes=pair, measure="correlation ratio", before=before, after=after)
        for *pair, before, after in (
            ("age", "fnlwgt", 0.1, 0.05),
            ("age", "income", 0.3, 0.28),
            ("zip", "income", 0.9, 0.8),
            ("age", "sex", 0.7, 0.6),
            ("race", "income", 0.2, None),
            ("race", "fnlwgt", None, 0.1),
        )
    )
    record = records.approved()
    assert record.risk is not None
    assert record.utility is not None
    weights = {"age": 10.0, "race": 10.0, "zip": 1.0, "sex": 1.0}
    game = record.risk.game.model_copy(update={"weights": weights})
    utility = record.utility.model_copy(update={"associations": measured})
    changed = records.changed(with_risk(record, game=game), utility=utility)
    told = page(changed, "loss")
    assert "Column income fnlwgt age 0.30 / 0.28 0.10 / 0.05 race 0.20 / lost – / 0.10" in told
    assert "A figure that rises" not in told
    assert kept_associations(RecordView(changed)) == (
        "Association, from 0 to 1, of age and income 0.30 as collected, 0.28 in the copy; of race and income 0.20 as "
        "collected, lost in the copy."
    )
    assert kept_associations(RecordView(records.changed(changed, utility=None))) is None
    groups = utility.model_copy(update={"associations": (measured[3],)})
    assert kept_associations(RecordView(records.changed(record, utility=groups))) is None
    equal = dict.fromkeys(weights, 1.0)
    alike = records.changed(with_risk(record, game=game.model_copy(update={"weights": equal})), utility=groups)
    assert "of age and sex 0.70 as collected, 0.60 in the copy." in str(kept_associations(RecordView(alike)))
    assert "age and sex correlation ratio 0.70 / 0.60" in page(alike, "loss")
    six = tuple(
        AssociationFact(attributes=("age", f"c{number}"), measure="Cramér's V", before=number / 10, after=0.9)
        for number in range(6)
    )
    many = page(records.changed(changed, utility=utility.model_copy(update={"associations": six})), "loss")
    assert "1 other in section E13" in many
    assert "Column c5 c4 c3 c2 c1 age 0.50 / 0.90" in many
    assert "A figure that rises does so because values are grouped, and is no gain." in many


def test_values_of_which_many_records_are_left_out_are_told_by_their_column() -> None:
    record = records.approved()
    assert record.utility is not None
    marginals = tuple(
        MarginalFact(name=name, total_variation=0.01, most_missed=missed)
        for name, missed in (("age", 0.1234), ("sex", 0.05), ("zip", 0.5))
    )
    uneven = records.changed(record, utility=record.utility.model_copy(update={"marginals": marginals}))
    shares = "one value of zip lost 50% of its records and one value of age lost 12%. Tables by them will mislead."
    assert shares in page(left_out(30, uneven))
    assert shares in str(usefulness(RecordView(left_out(30, uneven))))
    assert "fall heavily" not in page(left_out(3, uneven)), "so few that a share would tell their number"


def test_a_copy_without_a_sensitive_column_says_that_nothing_tests_what_it_tells() -> None:
    record = records.approved()
    said = "No column that leaves is declared sensitive, so no gate tests what the copy reveals about a person."
    assert said not in page(record)
    fields = tuple(
        one.model_copy(update={"role": Role.WITHHELD}) if one.role == Role.SENSITIVE else one for one in record.fields
    )
    changed = records.changed(record, fields=fields)
    assert said in page(changed)
    assert said in str(usefulness(RecordView(changed)))
    assert record.risk is not None
    assert record.risk.combined is not None
    combined = record.risk.combined.model_copy(update={"expected": 0.05, "presumed": ("ward", "team")})
    unlooked = records.changed(changed, risk=record.risk.model_copy(update={"combined": combined}))
    assert "The expected disclosure counts ward, team as sensitive" in page(unlooked)


def known_alone(*known: str, **terms: Any) -> dict[str, Any]:
    """Facts of singling out in which these columns alone may be known."""
    fact = records.approved().further["singling_out"] | {"known": known, **terms}
    return {"further": {**records.approved().further, "singling_out": fact}}


def test_the_first_page_has_the_gate_on_singling_out() -> None:
    record = records.approved()
    others = "That counts these columns alone. Whoever also knows some of workclass, occupation, hours-per-week can"
    estimated = "single out an estimated 2.354% of the records in the population, by at most 3 columns together; the"
    assert f"{others} {estimated} policy allows at most 9%." in page(record)
    by_quasi = "A few columns that may be known single out an estimated 2.354% of the records in the population; the"
    assert f"{by_quasi} policy" in page(records.changed(record, **known_alone("age", "zip", "race", "sex")))
    sampled = records.changed(record, **known_alone("age", "workclass", sampling_fraction=1.0))
    assert "single out 2.354% of the records in the file, by at most 3 columns" in page(sampled)
    ungated = tuple(gate for gate in record.gates if gate.id != Measure.SINGLED_OUT_POPULATION)
    assert "single out" not in page(records.changed(record, gates=ungated))
    in_file = tuple(
        gate.model_copy(update={"id": Measure.SINGLED_OUT, "measured": 0.05})
        if gate.id == Measure.SINGLED_OUT_POPULATION
        else gate
        for gate in record.gates
    )
    assert "single out 5% of the records in the file, by" in page(records.changed(record, gates=in_file))


def test_the_first_page_names_the_masked_columns_and_what_is_done_to_their_values() -> None:
    told = page(records.approved())
    assert "Values are changed (masked) of fnlwgt, hours-per-week (exchanged between records of about the same" in told
    assert "capital-loss (each replaced by the mean of a group of near ones)." in told
    assert "(masked)" not in page(records.changed(records.approved(), masking=()))


def test_the_title_promises_no_determination_before_anybody_signed() -> None:
    titles = {
        "Determination report, for the expert's signature": records.approved(),
        "Determination report, for an expert's signature": records.changed(records.approved(), expert=None),
        "Determination report": records.blocked(),
    }
    for title, record in titles.items():
        assert f"{title} {record.title}" in texts.seen(determination_html(record))


def test_the_standard_is_the_policys_yardstick_and_the_european_criteria_are_in_their_section() -> None:
    told = page(records.approved(), "statement")
    assert (
        "Where the Privacy Rule does not apply to the data, it is the yardstick that the policy has chosen, and" in told
    )
    assert "section E10.3 of the evidence takes the three European criteria" in told
    assert "E10.3 Singling out, linkability, inference" in texts.seen(evidence_html(records.approved()))


@pytest.mark.parametrize(
    ("basis", "why"),
    [
        (PopulationBasis.FILE, "the file is its own population"),
        (PopulationBasis.SAMPLE, "only the people of the file are counted"),
        (PopulationBasis.TABLE, None),
    ],
)
def test_a_journalist_who_is_as_likely_to_find_somebody_as_a_prosecutor_is_explained(
    basis: PopulationBasis, why: str | None
) -> None:
    record = records.approved()
    assert record.risk is not None
    after = record.risk.residual
    same = with_risk(record, residual=after.model_copy(update={"journalist": after.prosecutor}))
    size = 9_000_000 if basis is PopulationBasis.SAMPLE else None
    population = record.population.model_copy(update={"basis": basis, "size": size})
    alike, apart = (records.changed(one, population=population) for one in (same, record))
    row, note = f"(journalist): the same, since {why} 1", f"has the risks of the prosecutor, since {why}."
    assert (row in page(alike, "judged")) is (why is not None)
    assert (note in page(alike, "risk")) is (why is not None)
    assert "the same, since" not in page(apart, "judged")


def test_the_strongest_attack_is_explained_where_another_links_more() -> None:
    record = records.approved()
    assert record.risk is not None
    fact = record.risk.linkage
    assert fact is not None
    weakest = min((one for one in fact.attacks if one.knows == "uninformed"), key=lambda one: one.figure.share)
    other = fact.model_copy(update={"strongest_uninformed": weakest.id})
    assert "the strongest is so by the most that it may link" in page(with_risk(record, linkage=other), "linkage")
    assert "the strongest is so" not in page(record, "linkage")


def test_links_beside_a_gate_that_finds_none_are_told_apart() -> None:
    record = records.changed(records.approved(), masking=())
    told = page(record, "linkage")
    assert (
        "judges an intruder who uses masked numbers and nothing else: no number is masked, so that it finds 0%." in told
    )
    assert "masked numbers and nothing else." in page(records.approved(), "linkage")
    assert "So one may be 0% where the other is not." in told


@pytest.mark.parametrize(
    ("terms", "lapses"),
    [
        ({"access_cost": 0.0}, "a penalty or its detection lapses;"),
        ({"access_cost": 9.0, "penalty": 0.0}, "a fee for external data is dropped;"),
        ({"access_cost": 9.0}, "a fee for external data is dropped or a penalty or its detection lapses;"),
        ({"access_cost": 0.0, "penalty": 0.0}, "change; a newer or better population table"),
    ],
)
def test_only_what_the_release_declares_to_deter_can_lapse(terms: dict[str, float], lapses: str) -> None:
    record = records.approved()
    assert record.risk is not None
    assert record.risk.sequential is not None
    profile = record.risk.sequential.profile.model_copy(update=terms)
    sequential = record.risk.sequential.model_copy(update={"profile": profile})
    told = page(with_risk(record, sequential=sequential), "conditions")
    assert f" {lapses}" in told
    assert "register is opened" not in told


def test_one_strategy_claims_no_bound_that_says_nothing() -> None:
    record = records.approved()
    assert record.risk is not None
    benefit = record.recipient.benefit
    terms = {"payoff": benefit / 2, "bound": benefit, "least_people": 12, "least_records": 1}
    budget = BUDGET.model_copy(update=terms)

    def told(method: str, **changes: Any) -> str:
        game = record.risk.game.model_copy(  # type: ignore[union-attr]
            update={"method": method, "budget": budget.model_copy(update=changes)}
        )
        html = evidence_html(with_risk(record, game=game))
        return " ".join(texts.sections(html)["method"].split())

    common = told("no-attack-common")
    assert "but one strategy to all within the limits: 600.00 units per record" in common
    assert "matched by at least 12 people" in common
    assert "No release of this kind" not in common
    assert "at least 1 records" not in common
    other = told("no-attack", bound=benefit / 1.5, least_records=12)
    assert "No release of this kind within the limits can pay more than 800.00." in other
    assert "at least 12 records" in other
