"""What would open closed gates, by the record alone."""

import re

import pytest
import yaml

from tasks.assessments.registry import ASSESSMENTS
from tasks.decision.earlier_facts import ChangesFact, EarlierCopy, EarlierFact
from tasks.decision.gates import earlier_gate
from tasks.decision.record import CheckFact, DecisionRecord
from tasks.decision.remedies import remedies
from tasks.request.column_names import usually_known
from tasks.request.model import Attribute, Measure
from tests.support import records, special_records


def _closed(record: DecisionRecord, *ids: str, **fields: float | None) -> DecisionRecord:
    """A record with only these gates closed, and the stated probabilities of some fields."""
    (gate, *_) = (one for one in record.gates if one.comparison == "at most")
    gates = tuple(gate.model_copy(update={"id": one, "passed": False, "overridden": None}) for one in ids)
    known = tuple(
        one.model_copy(update={"known_probability": fields.get(one.name, one.known_probability)})
        for one in record.fields
    )
    return records.changed(record, gates=gates, fields=known)


def _grouped(name: str) -> str:
    """The terms of a column of text, and how to have others drafted."""
    terms = f'{name}: {{role: quasi-identifier, hierarchy: {{groups: {{levels: [{{"*": [a, b]}}]}}}}}}'
    return f"“{terms}” of two values (releasegate init drafts that of the data, answered “{name}=q”)"


def _beside(record: DecisionRecord) -> list[str]:
    return [one.name for one in record.fields if one.released and one.role in ("sensitive", "insensitive")]


def test_columns_that_may_be_known_are_named_first_and_those_that_nobody_knows_are_not() -> None:
    record = records.blocked()
    names = _beside(record)
    assert len(names) > 2
    found = remedies(
        _closed(record, "sequential.maximum_risk", "linkage.masked_share", **dict.fromkeys(names) | {names[0]: 0})
    )
    assert (
        found[0] == f"Withhold {', '.join(names[1:])} (role: withheld). Cause: others are assumed to know the values."
    )
    secret = [name for name in names[1:] if not usually_known(name)]
    assert len(secret) < len(names) - 1
    assert f"state “known_probability: 0” for what nobody outside can know of {', '.join(secret)}" in found[1]
    assert found[2:] == ("A higher penalty or a higher rate of detection in the agreement deters repeated attempts.",)


def test_numbers_are_to_be_masked_and_words_are_not() -> None:
    record = records.blocked()
    names = _beside(record)
    (number, *_) = names
    kinds = tuple(one.model_copy(update={"type": "number" if one.name == number else "text"}) for one in record.fields)
    changed = records.changed(_closed(record, "singling_out.population_share"), fields=kinds)
    _, sentence = remedies(changed)
    assert "mask numbers that somebody can know" in sentence
    plain = {"type": "text", "treatment": "released as collected"}
    words = tuple(one.model_copy(update=plain) for one in record.fields)
    _, sentence = remedies(records.changed(changed, fields=words))
    assert "mask" not in sentence


def test_numbers_are_written_as_a_request_takes_them_and_masked_ones_are_not_to_be_masked_again() -> None:
    record = _closed(records.blocked(), "linkage.masked_share")
    first, second, *_ = _beside(record)
    treatments = {first: "masked (mdav)", second: "released as collected"}
    fields = tuple(
        one.model_copy(update={"type": "number", "treatment": treatments[one.name], "known_probability": 1.0})
        for one in record.fields
        if one.name in treatments
    )
    assert remedies(records.changed(record, fields=fields)) == (
        f"Withhold {first}, {second} (role: withheld) to open all closed gates. Cause: others are assumed to know "
        "the values.",
        f"Or, in place of withholding: make them quasi-identifiers, each with a hierarchy, such as {_grouped(first)}; "
        "mask numbers that somebody can know, in large groups "
        f"(“masking: [{{attributes: [{second}], method: mdav, k: 200}}]”); take a larger k for {first}, which is not "
        "enough as masked.",
    )


@pytest.mark.parametrize(("alone", "larger"), [(0.08, False), (0.2, True)])
def test_columns_that_raise_a_figure_are_named_and_larger_groups_only_where_these_are_not_all(
    alone: float, larger: bool
) -> None:
    record = _closed(records.blocked(), "transparent.maximum_risk")
    (gate,) = record.gates
    raised = gate.model_copy(update={"threshold": 0.09, "measured": 1.0, "alone": alone, "columns": ("futime",)})
    first, second, *rest = remedies(records.changed(record, gates=(raised,)))
    opened = "" if larger else " to open all closed gates"
    assert first == f"Withhold futime (role: withheld){opened}. Cause: generalized values are revealed."
    assert second == (
        f"Or, in place of withholding: make futime a quasi-identifier with a hierarchy, such as {_grouped('futime')}."
    )
    assert [one.startswith("Larger groups") for one in rest] == [True] * larger


def test_of_figures_that_were_not_measured_nothing_is_said() -> None:
    record = _closed(records.blocked(), "validation.passed", "linkage.masked_share")
    gates = tuple(gate.model_copy(update={"measured": None}) for gate in record.gates)
    assert remedies(records.changed(record, gates=gates)) == (
        "Correct the data, or withhold the columns that failed a check.",
    )


def test_people_in_several_rows_are_to_be_named() -> None:
    """Withholding a column is no way out: the rows stay those of the same people."""
    record = _closed(records.blocked(), "validation.passed")
    repeated = CheckFact(id="same person/x", expectation="no person in several rows", passed=False, checked=9, failed=3)
    other = repeated.model_copy(update={"id": "email/note", "column": "note"})
    for checks, told in (((repeated,), 1), ((repeated, other), 2)):
        validation = record.validation.model_copy(update={"checks": checks})
        *first, last = remedies(records.changed(record, validation=validation))[:told]
        assert last.startswith("State in dataset.person which column names the person of each row")
        assert first == ["Correct the data, or withhold the columns that failed a check."] * (told - 1)
    named = record.validation.model_copy(update={"checks": (repeated.model_copy(update={"column": "visit"}),)})
    (told_of_rows, *_) = remedies(records.changed(record, validation=named))
    assert told_of_rows.endswith("write under visit: “excused: {by: NAME, because: each person has one row}”.")


def test_conditions_and_passed_gates() -> None:
    record = records.blocked()
    (kept,) = remedies(_closed(record, "released.information_kept"))
    assert "no-attack-remainder" in kept
    assert remedies(_closed(record, "agreement.in_force")) == ("Name an agreement that is in force.",)
    assert remedies(records.approved()) == ()


@pytest.mark.parametrize(
    ("assessment", "begins"),
    [
        ("combined", "Withhold "),
        ("linkage", "Withhold "),
        ("singling_out", "Withhold "),
        ("sequential", "A higher penalty"),
        ("attribute", "Classes share"),
    ],
)
def test_every_measure_of_an_assessment_has_its_remedy(assessment: str, begins: str) -> None:
    (measures,) = (one.gate_measures for one in ASSESSMENTS if one.id == assessment)
    assert measures
    for measure in measures:
        sentence, *_ = remedies(_closed(records.blocked(), measure))
        assert sentence.startswith(begins)


def test_a_study_of_what_a_gate_forbids_is_for_the_owner_of_the_policy() -> None:
    record = _closed(records.blocked(), Measure.ATTRIBUTE_DISCLOSED)
    told = {"columns": [{"column": "death", "disclosed_records": 30}, {"column": "kappa", "disclosed_records": 0}]}
    withhold, ask = remedies(records.changed(record, further={"attribute": told}))
    assert withhold.startswith("Withhold death (role: withheld) to open all closed gates.")
    assert ask.startswith("Where the study asks how death depends on columns that others know")
    assert "only the policy's owner" in ask


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (["zip"], "zip share values: withhold it instead, or write wider groups of zip into the hierarchy."),
        (
            ["zip", "ward"],
            "zip, ward share values: withhold them instead, or write wider groups of zip into the hierarchy; or state "
            "“known_probability: 0” for what nobody outside can know of ward.",
        ),
    ],
)
def test_a_group_that_discloses_alone_is_made_wider_and_another_column_stated_as_unknown(
    by: list[str], told: str
) -> None:
    record = _closed(records.blocked(), Measure.ATTRIBUTE_DISCLOSED)
    fact = {"columns": [{"column": "death", "disclosed_records": 30, "by": by}]}
    assert f"Records alike in {told}" in remedies(records.changed(record, further={"attribute": fact}))


def test_rows_that_others_know_are_withheld_or_stated_as_unknown_and_values_that_they_share_are_named() -> None:
    """Larger groups and a deterrent would not help: by quasi-identifiers alone every gate passes."""
    record = _closed(
        records.blocked(), "prosecutor.maximum_risk", "sequential.maximum_risk", "attribute.disclosed_share"
    )
    rows = special_records.events()
    gates = tuple(
        one.model_copy(update={"columns": ("ward",), "alone": one.threshold})
        if one.id != "attribute.disclosed_share"
        else one
        for one in record.gates
    )
    further = {"events": rows.model_dump(mode="json")}
    assert remedies(records.changed(record, gates=gates, further=further))[:2] == (
        "Withhold ward, diagnosis (role: withheld) to open all closed gates. Causes: others are assumed to know rows "
        "of a person (ward); a class shares values (diagnosis).",
        "Or, in place of withholding: state “known_probability: 0” for what nobody outside can know of ward.",
    )
    further = {"events": rows.model_copy(update={"columns": ()}).model_dump(mode="json")}
    assert remedies(records.changed(record, gates=gates[:2], further=further)) == (
        "Withhold ward (role: withheld) to open all closed gates. Cause: others are assumed to know rows of a person.",
        "Or, in place of withholding: state “known_probability: 0” for what nobody outside can know of ward.",
    )


def test_one_change_takes_back_all_columns_that_close_gates_and_says_why_each_does() -> None:
    record = _closed(records.blocked(), "linkage.masked_share", "columns.unplaced")
    first, second, *_ = _beside(record)
    fields = tuple(
        one.model_copy(
            update={"known_probability": None if one.name == second else 0, "treatment": "as is", "type": "text"}
        )
        for one in record.fields
        if one.name in (first, second)
    )
    linkage, unplaced = record.gates
    gates = (linkage, unplaced.model_copy(update={"columns": (first,)}))
    assert remedies(records.changed(record, fields=fields, gates=gates)) == (
        f"Withhold {first}, {second} (role: withheld) to open all closed gates. Causes: generalized values are "
        f"revealed ({first}); others are assumed to know the values ({second}).",
        f"Or, in place of withholding: make them quasi-identifiers, each with a hierarchy, such as {_grouped(first)}; "
        f"state “known_probability: 0” for what nobody outside can know of {second}.",
    )


def test_one_change_is_said_to_open_all_gates_only_where_it_withholds_every_revealing_column() -> None:
    """Occupation is known, and relationship reveals the sex unless somebody answers for it."""
    made = _closed(records.blocked(), "linkage.masked_share", "columns.unplaced")
    fields = tuple(
        one.model_copy(update={"known_probability": None if one.name == "occupation" else 0}) for one in made.fields
    )
    fact = special_records.columns()
    bare = fact.model_copy(update={"columns": tuple(one.model_copy(update={"excused": ""}) for one in fact.columns)})
    for columns, ending in ((fact, "to open all closed gates. Cause"), (bare, "(role: withheld). Cause")):
        further = {**made.further, "columns": columns.model_dump(mode="json")}
        sentence, *_ = remedies(records.changed(made, fields=fields, further=further))
        assert sentence.startswith("Withhold occupation (role: withheld)")
        assert ending in sentence


def test_copies_that_close_a_gate_are_named_with_the_command_that_revokes_them() -> None:
    (gate, *_) = (one for one in records.blocked().gates if one.comparison == "at most")
    copies = tuple(
        EarlierCopy(release_id=number * 64, recipient="lab", shares_people=shares)
        for number, shares in (("1", True), ("2", False), ("3", None))
    )
    figures = {Measure(gate.id): gate.threshold * 2 + 1}
    fact = EarlierFact(copies=copies, figures=figures)
    record = records.changed(
        records.blocked(),
        earlier=fact,
        gates=(gate.model_copy(update={"passed": False, "alone": gate.threshold, "overridden": None}),),
    )
    same_groups, first, second, party, *_ = remedies(record)
    assert same_groups.startswith("This copy alone would pass: its groups differ from those of earlier copies")
    there = " (with the --workspace of this release)"
    assert first.endswith(f": releasegate revoke 111111111111 --recipient lab --as NAME --reason REASON{there}")
    assert second.endswith(f": releasegate revoke 333333333333 --recipient lab --as NAME --reason REASON{there}")
    assert party.startswith(f"lab and {record.recipient.id} are taken for one party: names of organisations")
    people = records.changed(record, earlier=fact.model_copy(update={"regrouped": False}))
    assert remedies(people)[0].startswith(
        "This copy alone would pass: its groups are those of earlier copies held by the same party, or wider, but too "
        "few people of some group were added, withdrawn or changed since"
    )
    closed_alone = gate.model_copy(update={"passed": False, "alone": gate.threshold + 1, "overridden": None})
    condition = records.changed(record, gates=(*record.gates, closed_alone))
    assert next(iter(remedies(condition))).startswith("Groups differ from those of earlier copies")
    for other in (
        records.changed(record, gates=(closed_alone,)),
        records.changed(record, earlier=EarlierFact(copies=copies)),
        records.changed(record, earlier=EarlierFact(figures=figures)),
    ):
        assert not any("revoke" in sentence for sentence in remedies(other))


@pytest.mark.parametrize(("kind", "source"), [("integer", "intervals"), ("number", "groups"), ("text", "groups")])
def test_terms_of_a_hierarchy_are_such_as_a_request_takes(kind: str, source: str) -> None:
    record = _closed(records.blocked(), "linkage.masked_share")
    name, *_ = _beside(record)
    changes = {"type": kind, "distinct_values": 300}
    fields = tuple(one.model_copy(update=changes) for one in record.fields if one.name == name)
    _, sentence = remedies(records.changed(record, fields=fields))
    (terms,) = re.findall(rf"such as “({name}: .+?)” of", sentence)
    attribute = Attribute.model_validate(yaml.safe_load(terms)[name])
    assert attribute.hierarchy is not None
    assert getattr(attribute.hierarchy, source) is not None


@pytest.mark.parametrize(
    ("reviews", "under"), [(0, ", under a policy that has reviewers (policy.review.required)"), (1, "")]
)
def test_a_reason_for_few_people_names_the_last_copy_of_these_people(reviews: int, under: str) -> None:
    copies = tuple(
        EarlierCopy(release_id=number * 64, recipient="lab", shares_people=shares)
        for number, shares in (("1", True), ("2", True), ("3", False))
    )
    reason = ChangesFact(release="1" * 64, because="A consent was withdrawn.", applies=True, reviewed=True)
    fact = EarlierFact(copies=copies, least_class=11, few_changed=True)
    record = records.changed(records.blocked(), earlier=fact, gates=(earlier_gate(fact),), reviews_required=reviews)
    *_, told = remedies(record)
    assert told == (
        f"Or state in the request why few people differ between the copies{under}, for reviewers to accept: "
        f"“changes_since: {{release: {'2' * 64}, because: REASON}}”."
    )
    explained = fact.model_copy(update={"reason": reason, "closed": ("A gate of the other copy.",)})
    record = records.changed(record, earlier=explained, gates=(earlier_gate(explained),))
    assert not any("changes_since" in sentence for sentence in remedies(record))
