"""What a determination says of the sequential adversary and of the combined score."""

import re
import xml.etree.ElementTree as ET

import pytest

from reports.determination import charts as figures
from reports.determination import evidence
from reports.sections.assumptions import assumptions
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.fact import Bin
from tasks.decision.record import DecisionRecord
from tests.support import adversary_records, records, texts
from tests.support.rendered import determination_html


def with_facts(
    record: DecisionRecord, *, sequential: SequentialFact | None = None, combined: CombinedFact | None = None
) -> DecisionRecord:
    assert record.risk is not None
    facts = {"sequential": sequential or record.risk.sequential, "combined": combined or record.risk.combined}
    return records.changed(record, risk=record.risk.model_copy(update=facts))


def found(record: DecisionRecord) -> dict[str, str]:
    return texts.sections(determination_html(record))


def everything(record: DecisionRecord) -> str:
    return texts.seen(determination_html(record), figures(record).values())


def words(svg: bytes) -> list[str]:
    return texts.drawn_texts(svg)


def drawn(record: DecisionRecord, name: str) -> str:
    """Words of a figure."""
    return " | ".join(words(figures(record)[name].svg))


def titled(record: DecisionRecord, title: str) -> str:
    return next(words for name, words in assumptions(record) if name == title)


def titles(record: DecisionRecord) -> list[str]:
    return [title for title, _ in assumptions(record)]


class TestSections:
    def test_both_are_parts_of_the_risk(self) -> None:
        risk = next(section for section in evidence(records.approved()).sections if section.key == "risk")
        assert [(part.number, part.key) for part in risk.parts] == [
            ("E10.1", "sequential"),
            ("E10.2", "combined"),
            ("E10.3", "criteria"),
            ("E10.4", "singling_out"),
            ("E10.5", "attribute"),
            ("E10.6", "columns"),
        ]

    def test_of_a_stage_that_did_not_finish_its_part_says_why(self) -> None:
        record = records.without_adversaries()
        sections_found = found(record)
        for key, entry in zip(("sequential", "combined"), record.not_assessed[:2], strict=True):
            assert f"Not measured for this release. {entry.reason}" in sections_found[key]
            assert sections_found["assumed"].count(entry.stage) == 1
            assert entry.reason in sections_found["assumed"]
        assert "not measured" in sections_found["gates"]
        assert not {"sequential", "sensitivity", "combined"} & figures(record).keys()

    def test_a_missing_stage_that_the_record_does_not_name_is_named_all_the_same(self) -> None:
        scope = found(records.changed(records.without_adversaries(), not_assessed=()))["assumed"]
        assert "Sequential adversary The stage did not finish: no sequential adversary was modelled." in scope
        assert "Identity × attribute score The stage did not finish" in scope
        unreached = found(records.changed(records.validation_failed(), not_assessed=()))["assumed"]
        assert "Sequential adversary The stage was not reached" in unreached

    def test_one_stage_may_be_there_without_the_other(self) -> None:
        record = records.approved()
        assert record.risk is not None
        alone = records.changed(record, risk=record.risk.model_copy(update={"combined": None}))
        sections_found = found(alone)
        assert "sequential" in sections_found
        assert "Not measured for this release. The stage did not finish: how sensitive" in sections_found["combined"]
        assert "Identity × attribute score The stage did not finish" in sections_found["assumed"]

    def test_the_scope_says_what_was_tested(self) -> None:
        assert (
            "planned repeated attempts, at one candidate after another (sequential adversary)"
            in (found(records.approved())["assumed"])
        )
        without = found(records.without_adversaries())["assumed"]
        assert "and tested what a recipient gains who knows the method. A determination" in without


class TestSequential:
    def test_every_term_is_there_with_its_value_and_where_it_comes_from(self) -> None:
        text = found(records.approved())["sequential"]
        for row in (
            "G gain from a right match 300.00 stakes: gain",
            "Cp penalty for a detected exploit 2,000.00 agreement",
            "nf penalties after which detection costs nothing more 1 agreement: the first breach ends it",
            "Cd cost of access to the external data 25.00 adversary, as declared",
            "Cl cost of linking a record to them 0.00 none",
            "Ce cost of an exploit 4.00 stakes: cost of an attempt",
            "external data 0.63 people in the register over people in the population",
            "detection of the first exploit: a probability of 0.005 −5.2933 agreement",
            "growth of detection with each further exploit 0 default",
            "worth of a unit one step later (discount) 0.9 default",
            "probability that a right match is recognized 1 default",
        ):
            assert row in text
        assert "no limit adversary, as declared" in found(records.blocked())["sequential"]

    def test_the_three_beliefs_stand_beside_the_baseline(self) -> None:
        text = found(records.blocked())["sequential"]
        assert "Group size known; access paid for each record 0.63 → 0.63 0.1457 → 0.1185 30.10% → 25.85%" in text
        assert (
            "Access paid once for the whole file (judged) 0.63 → 0.63 0.1504 → 0.1233 42.76% → 38.81% "
            "4,896.94 → 4,014.15 2.40 → 2.34"
        ) in text
        assert text.count("(judged)") == 1
        assert "Baseline: a single attempt, after generalization (eq. 7) 0.63 – 25.85%" in text

    def test_one_attempt_pays_nowhere_and_a_series_does(self) -> None:
        record = records.blocked_by_planning()
        sections_found = found(record)
        assert "Baseline: a single attempt, after generalization (eq. 7) 0 – 0%" in sections_found["sequential"]
        assert "7.08% of them are attacked" in sections_found["sequential"]
        page = sections_found["decision"]
        assert "✗ Blocked" in page
        rows = sections_found["judged"]
        assert "somebody who tries again for as long as it pays (sequential adversary) 0.99 0.99 0.09 ✗ failed" in rows
        assert "the same, who also knows how the file was made (informed recipient) 1 0.01333 0.09 ✓ passed" in rows
        assert (
            "The gates set how large groups are, and so how coarse the copy is: a risk of at most 0.09 takes groups of "
            "at least 12; at the amounts of section 3 a single attempt pays below 75 people (it costs 4.00 and gains "
            "300.00 if it names the right one) and repeated attempts below 77. The largest of these decides. If "
            "attempts cost more or gained less, smaller groups would deter anyone who weighs the cost, and another "
            "gate might close."
        ) in sections_found["loss"]

    def test_the_external_data_are_a_register_or_the_population(self) -> None:
        record = records.approved()
        assert record.risk is not None
        assert record.risk.sequential is not None
        text = found(record)["sequential"]
        assert "a register, “Voter registration list of the state”, which lists 3,994,163 people" in text
        assert str(record.risk.sequential.external.sha256) in text
        assert "No register is declared." in found(records.blocked_by_planning())["sequential"]

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({}, "holds 29 candidates where access must be paid for that record alone, and 46 once access is paid"),
            ({"threshold_known": 46}, "holds 46 candidates, whether or not access to the external data has been paid."),
            ({"threshold_linked": None}, "No group size is safe once access to the external data is paid; before, a"),
            ({"threshold_linked": None, "threshold_known": None}, "external data is paid. In groups of fewer than 14"),
            ({"threshold_known": None}, "Once access is paid, a record is safe from this recipient in a group of 46."),
            (
                {"exhausted_below": 14},
                "In groups of fewer than 14, every candidate is tried, and the risk is the prior",
            ),
            ({"exhausted_below": None}, "For every size examined, the adversary tries every candidate."),
            ({"exhausted_below": 1}, "deters no longer. The released records"),
            ({}, "in groups of <11 to 2,500 candidates: 38.81% of them are attacked."),
        ],
    )
    def test_thresholds_in_words(self, changes: dict[str, int | None], said: str) -> None:
        fact = adversary_records.attacked().model_copy(update=changes)
        assert said in found(with_facts(records.blocked(), sequential=fact))["sequential"]

    def test_a_match_that_may_go_unrecognized_leaves_less_than_the_prior(self) -> None:
        fact = adversary_records.attacked()
        profile = fact.profile.model_copy(update={"confirmation": 0.5})
        text = found(with_facts(records.blocked(), sequential=fact.model_copy(update={"profile": profile})))[
            "sequential"
        ]
        assert "every candidate is tried. The" in text

    def test_nobody_attacks_the_approved_file(self) -> None:
        text = found(records.approved())["sequential"]
        assert "in groups of 47 to 3,000 candidates: none of them is attacked." in text

    def test_a_baseline_that_attempts_more_than_the_plan_is_explained(self) -> None:
        said = "The baseline attempts records that the plan does not attack"
        assert said not in found(records.approved())["sequential"]
        fact = adversary_records.deterred().model_copy(update={"baseline_attacked_share": 0.0012})
        assert said in found(with_facts(records.approved(), sequential=fact))["sequential"]

    def test_what_deters_is_rounded_up_so_that_the_printed_value_does(self) -> None:
        def deterrents(fact: SequentialFact) -> str:
            document = determination_html(with_facts(records.approved(), sequential=fact))
            return document.partition("Deterrents</h4>")[2]

        shown = deterrents(adversary_records.deterred())
        assert '<td class="figure">21.86</td>' in shown
        shown = deterrents(adversary_records.undeterred())
        assert '<td class="figure"><b>4.05</b></td>' in shown, "it would have to be raised"
        assert "no value deters" in shown
        assert "0.5029" in deterrents(adversary_records.attacked())


class TestCombined:
    def test_parameters_figures_and_weights_are_there(self) -> None:
        text = found(records.approved())["combined"]
        for part in (
            "0.01: the 52 known sets of a probability above ε were counted",
            "D is a score and not a probability",
            "Highest score 4.412 2.871",
            "Not exceeded by 99% of the records score 1.613 0.4813",
            "Mean score 0.2716 0.0382",
            "Above 1 share of records 3.15% 0.15%",
            "occupation sensitive 0.3 0.3",
            "zip quasi-identifier 0.8 –",
            "salary-class sensitive 0 1",
            "age, zip, race, sex 32.14%",
            "nothing: any record may be the one 0.001%",
            "capital-gain 18.77%",
        ):
            assert part in text
        assert "record_id" not in text

    def test_the_exclusive_form_is_an_expectation(self) -> None:
        record = with_facts(records.approved(), combined=adversary_records.combined(exclusive=True, epsilon=None))
        text = found(record)["combined"]
        assert "The form applied is the exclusive one" in text
        assert "not a probability" not in texts.seen(determination_html(record))
        assert "none: all 52 known sets of a probability above 0 were counted" in text
        assert "were not counted but bounded" not in found(record)["limitations"]
        assert "were not counted but bounded" in found(records.approved())["limitations"]

    def test_a_score_that_rises_is_explained(self) -> None:
        fact = adversary_records.combined()
        assert "higher after generalization than before" not in found(records.approved())["combined"]
        risen = fact.model_copy(update={"initial": fact.residual, "residual": fact.initial})
        text = found(with_facts(records.approved(), combined=risen))["combined"]
        assert "Some of these figures are higher after generalization than before" in text

    def test_what_epsilon_leaves_out_is_bounded_in_every_figure(self) -> None:
        whole, part = (adversary_records.combined(exclusive=True, epsilon=epsilon) for epsilon in (None, 0.02))
        said = "every figure has a bound on what the others add"
        assert said not in found(with_facts(records.approved(), combined=whole))["combined"]
        assert said in found(with_facts(records.approved(), combined=part))["combined"]

    def test_what_contributes_nothing_to_a_score_of_nothing_is_no_table(self) -> None:
        fact = adversary_records.combined().model_copy(update={"by_known_set": (), "by_attribute": ()})
        assert "Share of all scores" not in found(with_facts(records.approved(), combined=fact))["combined"]


class TestStatements:
    def test_single_attempts_say_what_is_modelled(self) -> None:
        assert "tries one candidate after another" in titled(records.approved(), "Single attempts")
        assert "was not modelled" in titled(records.without_adversaries(), "Single attempts")

    def test_controls_lower_no_figure_but_those_of_the_plan(self) -> None:
        title = "Controls as declared"
        text = titled(records.approved(), title)
        assert "The penalty of 2,000.00 with its detection (agreement)" in text
        assert (
            "the cost of access to external data of 25.00 (adversary, as declared) enter the test of repeated attempts"
            in text
        )
        assert "They lower the figures of that test alone" in text
        for record in (records.without_adversaries(), records.blocked_by_planning()):
            assert "No risk figure was lowered on their account" in titled(record, title)
            assert "No risk figure was lowered on their account." in found(record)["context"]
        assert "lower the figures of section E10.1 and no others." in found(records.approved())["context"]
        assert "No risk figure was lowered" not in texts.seen(determination_html(records.approved()))

    def test_one_control_alone_is_counted_in_the_singular(self) -> None:
        fact = adversary_records.deterred()
        profile = fact.profile.model_copy(update={"access_cost": 0.0})
        record = with_facts(records.approved(), sequential=fact.model_copy(update={"profile": profile}))
        text = titled(record, "Controls as declared")
        assert "(agreement) enters the test of repeated attempts (sequential adversary). It lowers" in text

    def test_the_models_bring_their_assumptions(self) -> None:
        own = {
            "Aim of the sequential adversary",
            "External data and prior",
            "Detection and penalty as declared",
            "Patience and certainty",
            "Independent knowledge",
            "Probabilities and weights as declared",
        }
        assert own <= set(titles(records.approved()))
        assert own.isdisjoint(titles(records.without_adversaries()))
        assert "2,000.00, the first time" in titled(records.approved(), "Detection and penalty as declared")
        assert "10,000.00, each time" in titled(records.blocked(), "Detection and penalty as declared")
        assert "No penalty enters" in titled(records.blocked_by_planning(), "Detection and penalty as declared")
        assert "register “Voter" in titled(records.approved(), "External data and prior")
        assert "the population itself" in titled(records.blocked_by_planning(), "External data and prior")

    def test_several_penalties_are_counted(self) -> None:
        fact = adversary_records.deterred()
        profile = fact.profile.model_copy(update={"max_penalties": 3})
        record = with_facts(records.approved(), sequential=fact.model_copy(update={"profile": profile}))
        assert "2,000.00, 3 times at most" in titled(record, "Detection and penalty as declared")

    def test_columns_known_elsewhere_are_named(self) -> None:
        assert "Some tests assume more: the combined score, that workclass, occupation" in titled(
            records.approved(), "Knowledge of a recipient"
        )
        assert "combined score" not in titled(records.without_adversaries(), "Knowledge of a recipient")

    def test_wp216_mentions_planning_and_scores_inference_in_part(self) -> None:
        risk = found(records.blocked())["criteria"]
        assert "tries candidates one by one where it pays: on 38.81% of the records" in risk
        assert "records to a register with names succeeds with a probability of at most 0.63" in risk
        assert "Inference , assessed in part" in risk
        assert "at most 4.412 before and 2.871 after" in risk
        without = found(records.without_adversaries())["criteria"]
        assert "Inference , not assessed" in without
        assert "plan" not in without

    def test_attackers_are_those_that_were_measured(self) -> None:
        every, fewer = (found(record)["threats"] for record in (records.approved(), records.without_adversaries()))
        for name in ("Prosecutor", "Journalist", "Marketer", "Informed recipient"):
            assert f" {name} " in every
            assert f" {name} " in fewer
        for name in ("Sequential adversary", "Linking intruder", "Acquaintance"):
            assert f" {name} " in every
            assert f" {name} " not in fewer

    def test_the_terms_of_the_agreement_are_part_of_the_context(self) -> None:
        context = found(records.approved())["context"]
        assert "a penalty of 2,000.00 units" in context
        assert "detected with a probability of 0.005; it is assumed to end with the first breach." in context
        assert "It states no penalty" in found(records.blocked_by_planning())["context"]
        agreement = records.approved().recipient.agreement.model_copy(update={"detection_rate": None})
        recipient = records.approved().recipient.model_copy(update={"agreement": agreement})
        unstated = found(records.changed(records.approved(), recipient=recipient))["context"]
        assert "somebody, not counted: its chance of being applied is not stated; it is assumed to end with" in unstated

    def test_amounts_name_a_penalty_that_does_not_count(self) -> None:
        plain = records.blocked_by_planning()
        assert "cost of an attempt 4.00 and no penalty." in everything(plain)
        agreement = plain.recipient.agreement.model_copy(update={"penalty": 2000.0})
        stated = records.changed(plain, recipient=plain.recipient.model_copy(update={"agreement": agreement}))
        assert "cost of an attempt 4.00 and no penalty, since its chance is not stated." in everything(stated)

    def test_detection_that_the_figures_rest_on_is_a_condition(self) -> None:
        assert (
            "claims the penalty for them, 2,000.00 units: the figures of section E10.1 rest on both"
            in (found(records.approved())["conditions"])
        )
        assert "rest on both" not in found(records.without_adversaries())["conditions"]

    def test_the_papers_are_cited_where_they_are_used(self) -> None:
        cited, without = (found(record)["reference"] for record in (records.approved(), records.without_adversaries()))
        for paper in ("Process-Driven Data Privacy", "A Novel Microdata Privacy Disclosure Risk Measure"):
            assert paper in cited
            assert paper not in without

    def test_a_gate_on_the_score_is_not_denied(self) -> None:
        record = records.approved()
        assert "applies no gate to its figures" in found(record)["threshold"]
        gate = record.gates[2].model_copy(update={"id": "combined.maximum", "threshold": 3.0})
        gated = found(records.changed(record, gates=(*record.gates, gate)))
        assert "applies no gate to its figures" not in gated["threshold"]


class TestSmallCells:
    def test_few_attacked_records_do_not_follow_from_any_figure(self) -> None:
        """Three records, each found with the prior's probability: mean and expectation would tell."""
        fact = adversary_records.with_beliefs(
            adversary_records.attacked(),
            attacked_records=3,
            attacked_share=3 / records.ROWS,
            mean_risk=1.89 / records.ROWS,
            expected_reidentifications=1.89,
            expected_exploits=0.0123,
        ).model_copy(update={"baseline_attacked_share": 3 / records.ROWS})
        text = everything(with_facts(records.blocked(), sequential=fact))
        assert "<0.03% → <0.03% not shown → not shown not shown → not shown" in text
        assert re.search(r"\b1\.89\b|0\.01 →|5\.804 × 10⁻⁵|0\.0092%", text) is None

    def test_few_spared_records_do_not_follow_either(self) -> None:
        spared = records.ROWS - 4
        fact = adversary_records.with_beliefs(
            adversary_records.attacked(),
            attacked_records=spared,
            attacked_share=spared / records.ROWS,
            expected_reidentifications=0.63 * spared,
        )
        text = found(with_facts(records.blocked(), sequential=fact))["sequential"]
        assert ">99.97% → >99.97% not shown" in text
        assert "20,510.91" not in text

    def test_sizes_of_small_groups_are_bounds(self) -> None:
        record = records.blocked()
        assert "<11 to 2,500 candidates" in found(record)["sequential"]
        fact = adversary_records.attacked().model_copy(update={"smallest_group": 3, "largest_group": 7})
        small = with_facts(record, sequential=fact)
        assert "from <11 to <11 candidates" in figures(small)["sequential"].alt
        assert "may not be shown" in figures(small)["sensitivity"].caption
        other = with_facts(record, sequential=fact.model_copy(update={"smallest_group": 2, "largest_group": 9}))
        assert figures(other)["sequential"].svg == figures(small)["sequential"].svg
        assert figures(other)["sensitivity"].svg == figures(small)["sensitivity"].svg

    def test_records_may_move_between_small_groups_and_intervals_without_a_trace(self) -> None:
        fact = adversary_records.attacked()
        moved = (Bin(low=0, high=1, records=148), Bin(low=1, high=2, records=0), *fact.group_sizes[2:])
        assert fact.group_sizes[0].records == 45
        assert fact.group_sizes[1].records == 103
        one, other = (
            figures(with_facts(records.blocked(), sequential=fact.model_copy(update={"group_sizes": sizes})))
            for sizes in (fact.group_sizes, moved)
        )
        assert one["sequential"].svg == other["sequential"].svg

    def test_few_high_scores_are_a_bound(self) -> None:
        fact = adversary_records.combined()
        residual = fact.residual.model_copy(update={"above": 3, "share_above": 3 / records.ROWS})
        text = everything(with_facts(records.approved(), combined=fact.model_copy(update={"residual": residual})))
        assert "3.15% <0.03%" in text
        assert "0.0092%" not in text

    def test_too_few_records_are_not_drawn(self) -> None:
        few = (Bin(low=0, high=200, records=9),)
        sequential = adversary_records.deterred().model_copy(update={"group_sizes": few})
        figure = adversary_records.combined().residual.model_copy(update={"histogram": few})
        combined = adversary_records.combined().model_copy(update={"initial": figure, "residual": figure})
        record = with_facts(records.approved(), sequential=sequential, combined=combined)
        assert "too few records to show" in drawn(record, "sequential")
        assert drawn(record, "combined").count("too few records to show") == 2


class TestFigures:
    def test_each_is_drawn_and_described_and_the_same_each_time(self) -> None:
        names = ("sequential", "sensitivity", "combined")
        once, again = ([figures(records.blocked_by_planning())[name] for name in names] for _ in range(2))
        for figure, same in zip(once, again, strict=True):
            assert ET.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314  (our own)
            assert figure.svg == same.svg
            assert len(figure.alt) > 100
            assert figure.caption.endswith(".")

    def test_thresholds_are_written_in(self) -> None:
        record = records.blocked()
        seen = drawn(record, "sequential")
        assert "safe from 29 on" in seen
        assert "safe from 46 on, access paid" in seen
        alone = drawn(records.blocked_by_planning(), "sequential")
        assert alone.count("safe from 76 on") == 1

    def test_sensitivity_marks_this_release(self) -> None:
        record = records.blocked()
        figure = figures(record)["sensitivity"]
        seen = drawn(record, "sensitivity")
        for title in ("Cost of access", "here 100.00", "Cost of an exploit", "Penalty", "Detection", "here 0.01005"):
            assert title in seen
        assert "Penalty: 460 at 0.00, 5 at 100,000.00, here 10,000.00" in figure.alt
        assert "leaves the top" not in figure.caption

    def test_a_term_that_moves_nothing_is_named_and_not_drawn(self) -> None:
        """All values of the third term with the sizes of its first; then of all terms."""
        fact = adversary_records.attacked()

        def flat(place: int) -> object:
            series = fact.sensitivity[place]
            sizes = {name: getattr(series.points[0], name) for name in ("known_threshold", "linked_threshold")}
            points = tuple(point.model_copy(update=sizes) for point in series.points)
            return series.model_copy(update={"points": points})

        one = (*fact.sensitivity[:2], flat(2), *fact.sensitivity[3:])
        record = with_facts(records.blocked(), sequential=fact.model_copy(update={"sensitivity": one}))
        assert figures(record)["sensitivity"].caption.endswith("The same at every value examined of: Penalty.")
        assert "Penalty" not in drawn(record, "sensitivity")
        none = tuple(map(flat, range(len(fact.sensitivity))))
        record = with_facts(records.blocked(), sequential=fact.model_copy(update={"sensitivity": none}))
        assert "sensitivity" not in figures(record)
        assert "is the same at every value of a term that was examined" in determination_html(record)

    def test_where_no_size_is_safe_the_line_leaves_the_top(self) -> None:
        fact = adversary_records.attacked()

        def unsafe(places: range) -> tuple[object, ...]:
            return tuple(
                point.model_copy(update={"known_threshold": None, "linked_threshold": None})
                if place in places
                else point
                for place, point in enumerate(fact.sensitivity[2].points)
            )

        for places, everywhere in ((range(6), False), (range(25), True)):
            series = fact.sensitivity[2].model_copy(update={"points": unsafe(places)})
            changed = fact.model_copy(
                update={
                    "sensitivity": (*fact.sensitivity[:2], series, fact.sensitivity[3]),
                    "threshold_known": None,
                    "threshold_linked": None,
                }
            )
            record = with_facts(records.blocked(), sequential=changed)
            assert figures(record)["sensitivity"].caption.endswith(
                "Where a line leaves the top, no size that was examined is safe."
            )
            assert "Penalty: none found at 0.00" in figures(record)["sensitivity"].alt
            assert ("no safe size found" in drawn(record, "sensitivity")) is everywhere
            assert "safe from" not in drawn(record, "sequential")

    def test_scores_are_drawn_on_logarithms_where_they_range_far(self) -> None:
        figure = figures(records.approved())["combined"]
        assert "both axes are logarithmic" in figure.caption
        assert "threshold 1" in drawn(records.approved(), "combined")
        even = (Bin(low=0, high=1e-6, records=400),)
        scored = adversary_records.combined().residual.model_copy(update={"histogram": even, "maximum": 1e-6})
        fact = adversary_records.combined().model_copy(update={"initial": scored, "residual": scored, "threshold": 0.0})
        flat = with_facts(records.approved(), combined=fact)
        assert "logarithmic" not in figures(flat)["combined"].caption
        assert "threshold" not in drawn(flat, "combined")

    def test_a_file_far_beyond_the_thresholds_is_drawn_to_its_end(self) -> None:
        fact = adversary_records.deterred().model_copy(
            update={
                "smallest_group": 210_000,
                "largest_group": 5_400_000,
                "group_sizes": (Bin(low=200_000, high=10_000_000, records=records.ROWS),),
            }
        )
        record = with_facts(records.approved(), sequential=fact)
        assert "10⁶" in drawn(record, "sequential")
        assert "100,000" in drawn(record, "sensitivity")
