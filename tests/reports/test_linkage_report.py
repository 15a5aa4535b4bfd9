"""What a determination says of record linkage: attacks, learned distances, policies, and what it must not tell."""

import re
from typing import Any

import pytest

from reports.determination import charts as figures
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN, SmallCellRule
from reports.sections.linkage import FEW, GUESSING, link_text
from tasks.assessments.linkage.facts import LinkageFact, WeakerFact, gate_figures, gate_intervals
from tasks.core.errors import StageFailed
from tasks.core.fact import Interval
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure, Role
from tests.support import linkage_records, records, texts
from tests.support.linkage_records import ROWS, SAMPLED, attack, figure
from tests.support.rendered import determination_html

ELEVEN = SmallCellRule(11)


def with_fact(fact: LinkageFact | None, record: DecisionRecord | None = None) -> DecisionRecord:
    record = record or records.approved()
    assert record.risk is not None
    return records.changed(record, risk=record.risk.model_copy(update={"linkage": fact}))


def changed(**changes: Any) -> DecisionRecord:
    return with_fact(linkage_records.linkage().model_copy(update=changes))


def section(record: DecisionRecord, key: str = "linkage") -> str:
    return texts.sections(determination_html(record))[key]


def alone(correct: float, people: int = ROWS, certain: int = 0) -> LinkageFact:
    """One attack, the strongest of every kind."""
    found = figure(correct, people, certain)
    return linkage_records.linkage().model_copy(
        update={
            "attacks": (attack("one", "An attack", "uninformed", found),),
            "strongest_uninformed": "one",
            "strongest_informed": "one",
            "strongest_masked": "one",
        }
    )


class TestSection:
    def test_it_says_what_the_intruder_holds(self) -> None:
        text = section(records.approved())
        assert "everybody's values of age, zip, race, sex, fnlwgt, hours-per-week, capital-gain, capital-loss" in text
        assert "in the 32,561 released records" in text

    def test_an_intruder_is_called_by_what_it_knows(self) -> None:
        """Only who knows every released column holds the source file."""
        assert "an intruder who knows 8 of the 16 released columns of everybody" in section(records.approved())
        few = texts.seen(determination_html(changed(known=("age", "zip", "race", "sex"))))
        assert "an intruder who knows everybody's quasi-identifiers and no other column" in few
        assert "who holds the original file" not in few
        released = [field.name for field in records.approved().fields if field.role != Role.DIRECT]
        assert "an intruder who holds the original file" in section(changed(known=tuple(released)))

    def test_each_attack_stands_beside_its_interval_its_baseline_and_its_certain_matches(self) -> None:
        text = section(records.approved())
        for row in (
            "Any record whose groups hold the known values by quasi-identifiers all, 32,561 39.98% 39.45–40.52% "
            "0.0031% 8,112",
            "and of masked numbers (strongest without the method) sample, 2,000 45.12% 42.96–47.31% 0.0031% 0",
            "have the same record (strongest of all) all, 32,561 87.88% 87.52–88.23% 0.0031% 26,388",
            "(strongest by numbers alone) by masked attributes sample, 2,000 5.83% 4.88–6.94% 0.0031% 14",
        ):
            assert row in text
        assert text.index("Without knowledge of the method") < text.index("With rule, masking and parameters")
        assert "Without the method, the strongest attack links 45.12%" in text
        assert "gates judge the upper end of the interval" in text

    def test_attributes_of_several_kinds_are_named(self) -> None:
        odd = attack("odd", "An attack", "uninformed", figure(900), ("age", "capital-gain"))
        fact = linkage_records.linkage()
        assert "An attack by age, capital-gain" in section(changed(attacks=(*fact.attacks, odd)))

    def test_attacks_that_were_not_made_are_named_with_the_reason(self) -> None:
        text = section(records.approved())
        assert "Not made: Everybody at once, by numbers alone" in text
        assert "expected at most 33,554,432, got 231,446,092)." in text
        assert "Not made:" not in section(changed(untried=()))

    def test_an_attack_no_better_than_guessing_is_marked_as_proving_nothing(self) -> None:
        fact = alone(0)
        record = with_fact(fact)
        assert "all, 32,561 0% 0–0.01% 0.0031% 0" in section(record)
        assert GUESSING in section(record)
        assert "say nothing about how safe the file is" in section(record)
        assert GUESSING not in section(records.approved())

    def test_when_the_method_gains_nothing_it_is_said(self) -> None:
        fact = linkage_records.linkage().model_copy(update={"strongest_informed": "all-nearest"})
        assert "No attack with knowledge of the method was stronger" in section(with_fact(fact))
        assert "strongest without the method, strongest of all" in section(with_fact(fact))

    def test_without_masking_nothing_is_said_of_masked_numbers(self) -> None:
        fact = linkage_records.linkage().model_copy(update={"strongest_masked": None})
        assert "; by numbers alone" not in section(with_fact(fact))

    @pytest.mark.parametrize(
        "changes", [{"strongest_uninformed": "own-cell"}, {"strongest_informed": "x"}, {"strongest_masked": "x"}]
    )
    def test_a_strongest_attack_that_is_not_there_stops_the_report(self, changes: dict[str, str]) -> None:
        with pytest.raises(StageFailed, match="strongest attack that it does not hold"):
            section(changed(**changes))

    def test_learned_distances_stand_beside_equal_weights_and_other_people(self) -> None:
        text = section(records.approved())
        assert "Weighted mean 400 42.88% (38.12–47.77%) 78% (73.68–81.78%) 75.38% (70.92–79.34%)" in text
        assert "Symmetric bilinear form" in text
        fact = linkage_records.linkage().learned[0].model_copy(update={"out_of_sample": None})
        assert "too few people" in section(changed(learned=(fact,)))
        assert "Learned distances" not in section(changed(learned=()))

    def test_attacks_of_learned_distances_show_both_figures(self) -> None:
        one, *others = linkage_records.linkage().attacks
        trained = one.model_copy(update={"trained": linkage_records.linkage().learned[0].in_sample})
        text = section(changed(attacks=(trained, *others)))
        assert "78% (73.68–81.78%) of those it was learned from" in text

    def test_numbers_that_may_be_known_are_named(self) -> None:
        one, *others = linkage_records.linkage().attacks
        beyond = one.model_copy(update={"id": "numbers-clear", "attributes": ("bill", "dose")})
        text = section(changed(attacks=(one, beyond, *others)))
        assert "Attacks by numbers alone also use bill, dose, which may be known." in text
        assert "by bill, dose" in text
        assert "which may be known" not in section(records.approved())

    def test_weaker_intruders_are_shown_and_not_judged(self) -> None:
        assert "Intruders who know less" not in section(records.approved())
        figure = linkage_records.linkage().learned[0].in_sample
        few = WeakerFact(title="Holds 200 individuals alone", figure=figure)
        text = section(changed(weaker=(few,)))
        assert "shown, and not judged by the gates" in text
        assert "Holds 200 individuals alone 400 78% 73.68–81.78%" in text

    def test_without_the_stage_there_is_one_line_that_says_so(self) -> None:
        record = records.changed(with_fact(None), not_assessed=())
        assert "Not measured for this release. The stage did not finish: no attack" in section(record)
        assert "Record linkage The stage did not finish: no attack by an intruder who holds" in section(
            record, "assumed"
        )
        assert "matched the release with the source file" not in section(record, "assumed")
        assert "linkage" not in figures(record)
        text = texts.seen(determination_html(record))
        for words in ("Linking intruder", "The intruder of the record linkage", "Fellegi", "Certain matches"):
            assert words not in text
            assert words in texts.seen(determination_html(records.approved()))

    def test_assumptions_and_criteria_name_what_is_held_and_found(self) -> None:
        record = records.approved()
        text = section(record, "limitations")
        assert "; the record linkage, that the intruder has fnlwgt, capital-gain, capital-loss, hours-per-week" in text
        assert "They do not prove that no stronger attack exists" in text
        assert "released columns of everybody, and the method, links 87.88% of the records" in section(
            record, "criteria"
        )
        assert "only shares of section E11.2 are estimated, with intervals" in section(record, "risk")


class TestPolicies:
    def test_every_method_is_shown_naive_and_informed_with_the_one_applied(self) -> None:
        text = section(records.approved())
        assert "No-Attack game 73.18% 0% → 11.52% 46.04% → 50.18%" in text
        assert "No-Attack game, recursive partition (applied) , control 0% 0% → 0% 48.23% → 48.23%" in text
        assert text.count(", control") == 4
        assert "Safe Harbor , control" in text

    def test_the_control_holds(self) -> None:
        assert "none of them shows a gap" in section(records.approved())

    @pytest.mark.parametrize("changes", [{"informed": 0.5}, {"narrowed_share": 0.0004}, {"naive_attacked_share": 0.5}])
    def test_a_control_with_a_gap_is_not_passed_over(self, changes: dict[str, float]) -> None:
        fact = linkage_records.linkage()
        wrong = fact.policies[4].model_copy(update=changes)
        record = changed(policies=(*fact.policies[:4], wrong, *fact.policies[5:]))
        assert "The control fails for One common strategy: the table cannot be relied on." in section(record)
        assert 'class="failed"' in determination_html(record)

    def test_without_a_control_nothing_is_claimed(self) -> None:
        per_record = [one for one in linkage_records.linkage().policies if one.method in {"basic", "no-attack"}]
        assert "control" not in section(changed(policies=tuple(per_record)))
        assert "Narrowed" not in section(changed(policies=()))


class TestSmallCells:
    @pytest.mark.parametrize("people", [ROWS, SAMPLED])
    def test_one_to_ten_links_read_alike_in_both_directions(self, people: int) -> None:
        """Share, interval, certain matches and whether guessing is beaten: nothing tells how few."""
        few = (0.25, 0.5, 1, 1.5, 2, 5, 10, 10.75)
        assert {link_text(figure(count, people), ELEVEN) for count in few} == {link_text(figure(3, people), ELEVEN)}
        assert link_text(figure(3, people), ELEVEN).mark == FEW
        assert link_text(figure(3, people), ELEVEN).interval == "–"
        every = {link_text(figure(people - count, people, people - 900), ELEVEN) for count in few}
        assert len(every) == 1
        assert next(iter(every)).share.startswith(">")

    def test_certain_matches_are_a_bound_in_both_directions(self) -> None:
        def certain(correct: float, count: int, people: int = SAMPLED) -> str:
            return link_text(figure(correct, people, count), ELEVEN).certain

        assert {certain(700, count) for count in (1, 3, 10)} == {"<11"}
        assert certain(700, 0) == "0"
        assert certain(700, 11) == "11"
        assert {certain(SAMPLED - 2, SAMPLED - count) for count in (3, 7, 10)} == {">1,989"}
        assert {certain(700.5, 700 - count) for count in (1, 4, 10)} == {">689"}
        assert certain(700, 700) == "700"
        assert certain(11.5, 11) == HIDDEN

    def test_a_file_smaller_than_the_limit_shows_no_share(self) -> None:
        found = link_text(figure(3, 9, 2, masked=9), ELEVEN)
        assert (found.share, found.interval, found.certain) == (HIDDEN, "–", "<11")

    @pytest.mark.parametrize("people", [ROWS, SAMPLED])
    @pytest.mark.parametrize("measure", [Measure.LINKED_UNINFORMED, Measure.LINKED_MASKED, Measure.CERTAIN_INFORMED])
    def test_a_gate_tells_no_more_than_the_table(self, people: int, measure: Measure) -> None:
        """The upper end of an interval, which gates judge of a sample, tells the count as the share does."""

        def judged(count: int) -> set[tuple[str, str]]:
            fact = alone(count, people, count)
            interval, of = gate_intervals(fact).get(measure, (None, None))
            gate = (
                records.approved()
                .gates[2]
                .model_copy(
                    update={
                        "id": measure.value,
                        "unit": "share of records",
                        "measured": gate_figures(fact)[measure],
                        "interval": interval,
                        "people": of,
                    }
                )
            )
            row = RecordView(records.changed(with_fact(fact), gates=(gate,))).gates[0]
            return {(row.measured, row.interval)}

        low = set().union(*(judged(count) for count in (1, 4, 10)))
        high = set().union(*(judged(people - count) for count in (1, 4, 10)))
        assert len(low) == len(high) == 1
        assert next(iter(low))[0].startswith("under ")
        assert next(iter(high))[0].startswith("over ")
        assert judged(700) != judged(701)

    def test_few_links_with_some_attributes_are_a_bound(self) -> None:
        def shown(count: int) -> str:
            points = [
                point.model_copy(update={"uninformed": count / 300, "informed": 1 - count / 300})
                for point in linkage_records.linkage().partial
            ]
            return section(changed(partial=tuple(points)))

        assert shown(3) == shown(8)
        assert "1 <3.70% >96.30%" in shown(3)
        assert shown(20) != shown(21)

    def test_few_links_follow_from_nothing_in_the_report(self) -> None:
        """Seven links of 32,561 and of 2,000 everywhere."""
        fact = linkage_records.linkage()
        attacks = tuple(one.model_copy(update={"figure": figure(7, one.figure.people, 7)}) for one in fact.attacks)
        policies = tuple(
            one.model_copy(update={"uninformed": 7 / ROWS, "informed": 7 / ROWS, "narrowed_share": 7 / ROWS})
            for one in fact.policies
        )
        partial = tuple(one.model_copy(update={"uninformed": 7 / 300, "informed": 7 / 300}) for one in fact.partial)
        few = figure(7, 400, masked=400)
        learned = tuple(
            one.model_copy(update={"equal": few, "in_sample": few, "out_of_sample": few}) for one in fact.learned
        )
        record = changed(attacks=attacks, policies=policies, partial=partial, learned=learned)
        gates = tuple(
            gate.model_copy(update={"measured": figure(7, SAMPLED).high, "interval": _interval(7, SAMPLED)})
            if gate.id == Measure.LINKED_MASKED
            else gate
            for gate in record.gates
        )
        record = records.changed(record, gates=gates)
        text = texts.seen(determination_html(record), figures(record).values())
        assert "<0.55%" in text
        for told in ("0.35%", "0.0215%", "0.02%", "2.33%", "1.75%", "0.72%", "0.7207%", "3.57%"):
            assert re.search(rf"(?<![\w.,]){re.escape(told)}(?![\w,])", text) is None, told


def _interval(count: int, people: int) -> Interval:
    found = figure(count, people)
    return Interval(low=found.low, high=found.high, level=0.95)


class TestGates:
    def test_an_estimate_is_shown_with_its_interval_and_what_is_judged(self) -> None:
        row = next(row for row in RecordView(records.approved()).gates if row.gate.id == Measure.LINKED_MASKED)
        assert row.measured == "6.939%"
        assert row.interval == "95% interval 4.88–6.94%, its upper end is judged"
        assert row.interval in section(records.approved(), "gates")

    def test_a_probability_keeps_its_unit(self) -> None:
        record = records.approved()
        gate = record.gates[2].model_copy(update={"interval": Interval(low=0.01, high=0.02, level=0.9)})
        row = RecordView(records.changed(record, gates=(gate,))).gates[0]
        assert (row.measured, row.interval) == ("0.01333", "90% interval 0.01 to 0.02")


class TestKnowledge:
    def test_links_by_the_number_of_attributes_known(self) -> None:
        text = section(records.approved())
        assert "1 <3.70% <3.70%" in text
        assert "8 40.12% 91.05%" in text
        assert "averaged over sets of as many (10 at most)" in text
        assert "Attributes known" not in section(changed(partial=()))

    def test_weights_of_learned_distances_the_greatest_first(self) -> None:
        text = section(records.approved())
        assert "zip 38% 33%" in text
        assert text.index("zip 38%") < text.index("capital-gain 21%") < text.index("sex 0%")
        assert "Share of the weight" not in section(changed(learned=()))

    def test_shares_of_an_unknown_number_of_people_are_not_shown(self) -> None:
        partial = tuple(point.model_copy(update={"people": None}) for point in linkage_records.linkage().partial)
        assert "Attributes known" not in section(changed(partial=partial))
