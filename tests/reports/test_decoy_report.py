"""What a determination says of decoys and of the statistics of a copy."""

import re
from html import unescape
from typing import Any

import pytest

from reports.determination import charts as figures
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN
from reports.sections.reference import cited
from tasks.decision.decoy_facts import AttemptFact, ChoiceFact, DecoyFact, StatisticChange
from tasks.decision.gates import DECOYS_DETECTABLE, decoy_gate
from tasks.decision.record import DecisionRecord
from tests.support import decoy_records, records, texts
from tests.support.rendered import determination_html


def section(record: DecisionRecord, key: str = "decoys") -> str:
    return texts.sections(determination_html(record))[key]


def headings(record: DecisionRecord) -> list[str]:
    part = re.search(r'<section class="decoys[^"]*">(.*?)</section>', determination_html(record), re.DOTALL)
    assert part is not None
    return re.findall(r"<h3>(.*?)</h3>", part[1])


def attempts(lured: float) -> AttemptFact:
    fact = decoy_records.decoys().attempts
    assert fact is not None
    return fact.model_copy(update={"lured": lured})


class TestSection:
    def test_it_says_why_how_many_and_binds_to_the_manifest(self) -> None:
        text = section(decoy_records.approved())
        assert "(Antonatos et al. 2019)" in text
        assert "The file holds 66 decoy records in 6 classes; 8 recipients of this release" in text
        assert (
            "This copy misses 186 records for other recipients' kept classes; the gates count them as suppressed."
            in text
        )
        assert records.sha("decoys") in text

    @pytest.mark.parametrize(
        ("empty", "heading"),
        [
            ({"collusion": ()}, "Recipients who compare their copies"),
            ({"choice": None}, "Cost of the kept classes"),
            ({"attempts": None}, "Risk of the people in the data"),
            ({"statistics": None}, "Bias of statistics by decoys"),
            ({"statistics": decoy_records.statistics(columns=())}, "Bias of statistics by decoys"),
        ],
    )
    def test_what_the_record_does_not_hold_leaves_its_heading_out(self, empty: dict[str, Any], heading: str) -> None:
        whole = headings(decoy_records.approved())
        assert len(whole) == 5
        assert headings(decoy_records.approved(**empty)) == [title for title in whole if title != heading]

    def test_a_detection_that_was_not_measured_says_so_where_a_gate_was_judged(self) -> None:
        fact = decoy_records.decoys(detectability=None)
        record = decoy_records.with_decoys(fact)
        judged = records.changed(record, gates=(*record.gates[:-1], decoy_gate(fact, 0.75)))
        assert "could not be measured; the policy requires an area of at most 0.75" in section(judged)
        unjudged = records.changed(record, gates=record.gates[:-1])
        assert "Whether decoys can be distinguished from real classes" not in headings(unjudged)

    def test_a_record_with_count_and_commitment_alone_has_one_text_and_no_heading(self) -> None:
        bare = DecoyFact(count=120, commitment_sha256=records.sha("decoys"))
        record = records.changed(records.approved(), decoys=bare)
        assert headings(record) == []
        assert "The file holds 120 decoy records. Which records are decoys" in section(record)

    def test_a_record_without_decoys_says_so_and_has_no_word_of_them_in_the_definitions(self) -> None:
        record = records.approved()
        assert "No decoy records were requested" in section(record)
        assert "No file was made" in section(records.blocked())
        assert "Decoy" not in section(record, "reference")
        assert "Decoy, decoy class" in section(decoy_records.approved(), "reference")

    def test_papers_are_cited_as_far_as_they_were_used(self) -> None:
        def named(record: DecisionRecord) -> set[str]:
            return {paper.split(" ")[0] for paper in cited(RecordView(record))}

        assert {"Antonatos", "DeLong", "Lopez-Paz"} <= named(decoy_records.approved())
        assert named(decoy_records.approved(detectability=None)).isdisjoint({"DeLong", "Lopez-Paz"})
        assert "Antonatos" not in named(records.approved())


class TestCollusion:
    def test_measured_and_planned_stand_side_by_side(self) -> None:
        text = section(decoy_records.approved())
        assert "planned to be at most 1/(1 + t) = 0.3333" in text
        assert "2 all 28 12 + 26.5 0.3117 0.331 0.3333 0.3333" in text
        assert "The plan of 0.3333 holds" in text

    def test_a_plan_that_does_not_hold_is_said_with_the_sets_that_break_it(self) -> None:
        points = list(decoy_records.collusion(4))
        points[2] = points[2].model_copy(update={"worst_informed": 0.5})
        points[3] = points[3].model_copy(update={"worst": 0.4})
        text = section(decoy_records.approved(collusion=tuple(points)))
        assert "does not hold for sets of 3, 4: the probability reaches 0.5." in text

    def test_without_a_plan_the_highest_probability_stands_alone(self) -> None:
        fact = decoy_records.decoys(planned_probability=None, kept_per_decoy=0)
        text = section(decoy_records.with_decoys(fact))
        assert "The highest probability that any set reaches is 0.3333." in text
        assert "planned to be" not in text

    def test_of_many_numbers_first_and_last_and_some_between_are_shown(self) -> None:
        document = determination_html(decoy_records.approved(collusion=decoy_records.collusion(20)))
        shown = re.findall(r'<th scope="row" class="figure">(\d+)</th>', document)
        assert (shown[:2], shown[-1]) == (["1", "2"], "20")
        assert len(shown) <= 9
        assert "20 200 drawn" in texts.seen(document)


class TestCost:
    def test_records_missing_from_the_worst_off_copy_and_from_this_one(self) -> None:
        text = section(decoy_records.approved())
        assert "Worst-off copy, as chosen 190 0.58%" in text
        assert "the least possible (proven bound) 190 0.58%" in text
        assert "This copy 186 0.57%" in text
        assert "Proven optimal" in text

    def test_no_more_is_claimed_than_was_proven(self) -> None:
        text = section(decoy_records.approved(choice=ChoiceFact(status="feasible", bound=180, worst_missing=190)))
        assert "is not proven" in text
        assert "Proven optimal" not in text

    def test_one_kept_class_is_one(self) -> None:
        fact = decoy_records.decoys(kept_per_decoy=1)
        assert "For each decoy class, each copy keeps 1 real class. " in section(decoy_records.with_decoys(fact))


class TestDetectability:
    def test_every_try_stands_with_its_interval_and_the_largest_is_marked(self) -> None:
        text = section(decoy_records.approved())
        assert "File alone logistic regression 0.498 0.443 to 0.553" in text
        assert "Population and values gradient boosting (largest) 0.604 0.549 to 0.659" in text
        assert text.count("(largest)") == 1
        assert "on 120 decoy classes drawn in the same way and 3,500 real ones" in text
        assert "gives p = 0.421" in text

    def test_the_gate_is_written_like_the_others_with_the_end_that_it_judges(self) -> None:
        record = decoy_records.approved()
        row = next(row for row in RecordView(record).gates if row.gate.id == DECOYS_DETECTABLE)
        assert (row.measured, row.asked, row.unit) == ("0.659", "at most 0.75", "area under the ROC curve")
        assert row.interval == "95% interval 0.549 to 0.659, its upper end is judged"
        assert row.gate.comparison != "is"
        assert "0.659 at most 0.75 area under the ROC curve ✓ passed" in section(record, "gates")
        assert "0.659, and the policy requires at most 0.75: passed." in section(record)

    def test_a_failed_gate_and_one_that_is_missing_are_said(self) -> None:
        record = decoy_records.approved()
        failed = records.changed(record, gates=(*record.gates[:-1], decoy_records.gate(0.8, 0.85)))
        assert "at most 0.75: failed." in section(failed)
        assert "No gate was judged on it." in section(records.changed(record, gates=record.gates[:-1]))

    def test_the_decision_s_own_gate_is_rendered(self) -> None:
        fact = decoy_records.decoys()
        record = records.changed(decoy_records.with_decoys(fact), gates=(decoy_gate(fact, 0.75),))
        assert RecordView(record).gates[0].measured == "0.659"


class TestAttempts:
    def test_risk_with_and_without_decoys_stands_side_by_side(self) -> None:
        text = section(decoy_records.approved())
        assert "with and without decoys (judged) 0.01333 0.00561" in text
        assert "who mistakes decoys for real records 0.01639 0.00563" in text
        assert "0.0056 of the attempts identify a person of the data; without decoys it would be 0.00561" in text

    @pytest.mark.parametrize(
        ("lured", "shown"),
        [
            (0.0, "0% are decoys"),
            (0.31, "31% are decoys"),
            (0.004, "under 1% are decoys"),
            (66 / 71, "over 85% are decoys"),
            (66 / 76, "over 85% are decoys"),
            (66 / 77, "86% are decoys"),
        ],
    )
    def test_few_real_records_at_the_highest_risk_do_not_follow(self, lured: float, shown: str) -> None:
        """66 decoys beside 5, 10 and 11 real records."""
        assert shown in section(decoy_records.approved(attempts=attempts(lured)))


class TestStatistics:
    def test_the_copy_is_compared_with_the_data_as_collected_under_utility(self) -> None:
        text = section(decoy_records.approved(), "utility")
        assert "Statistics of the copy The file as this recipient would receive it (decoys included) is" in text
        assert "capital-gain 0.0151 2.72 1.0075" in text
        assert "native-country 1.42% 0.71%" in text
        assert "correlation between two numbers is 0.0061 and of Cramér's V between two categories is 0.0043." in text
        assert "whether salary-class has its commonest value" in text
        assert "it explains R² 0.352 before and 0.351 after" in text

    def test_without_decoys_the_same_table_says_nothing_of_them(self) -> None:
        text = section(records.changed(records.approved(), statistics=decoy_records.statistics()), "utility")
        assert "capital-gain 0.0151 2.72 1.0075" in text
        assert "decoy" not in text.lower()
        assert "Statistics of the copy" not in section(records.approved(), "utility")

    def test_what_decoys_change_stands_in_their_own_section(self) -> None:
        assert "capital-gain 0.0076 1.36 1.0038" in section(decoy_records.approved())

    def test_what_has_no_figure_is_a_dash_and_leaves_its_sentence_out(self) -> None:
        unknown = StatisticChange(name="x", kind="number", mean=0.5)
        same = StatisticChange(name="y", kind="number", mean=0.0, spread=1.0)
        fact = decoy_records.statistics(columns=(unknown, same), correlation=None, association=None, target=None)
        text = section(records.changed(records.approved(), statistics=fact), "utility")
        assert text.rstrip().endswith("x 0.5000 – – Mean, deviation and distribution are unchanged in y.")

    def test_of_many_numbers_those_that_changed_most_are_shown(self) -> None:
        """Forty, of which the last twelve changed by more than 2.8 standard errors."""
        columns = tuple(
            StatisticChange(name=f"x{at}", kind="number", mean=at / 100, standard_errors=at / 10, spread=1.0)
            for at in range(1, 41)
        )
        fact = decoy_records.statistics(columns=columns)
        text = section(records.changed(records.approved(), statistics=fact), "utility")
        assert "the 12 of 40 numbers that changed most" in text
        assert "x29 0.2900 2.90 1.0000" in text
        assert "x28 " not in text

    def test_a_number_that_is_explained_is_named_as_such(self) -> None:
        fact = decoy_records.statistics(target="capital-gain", explained_before=None, correlation=None)
        text = section(records.changed(records.approved(), statistics=fact), "utility")
        assert "Over all pairs of columns, the largest change of Cramér's V" in text
        assert text.rstrip().endswith(
            "In a linear regression of capital-gain on the other columns, no coefficient changes by more than 0.41 of "
            "its standard errors."
        )

    @pytest.mark.parametrize(("missing", "suppressed"), [(4, 0), (4, 100), (100, 4)])
    def test_few_left_out_records_do_not_follow_from_shares(self, missing: int, suppressed: int) -> None:
        """The total variation of a column whose only other values were those left out is exactly their share."""
        share = 4 / records.ROWS
        column = StatisticChange(name="x", kind="categories", total_variation=share, largest=share)
        record = decoy_records.with_decoys(decoy_records.decoys(missing=missing), suppressed=suppressed)
        changed = records.changed(record, statistics=decoy_records.statistics(columns=(column,)))
        assert "x about 0.0% about 0.0%" in section(changed, "utility")


class TestSmallCells:
    @pytest.mark.parametrize("suppressed", [0, 103, 39])
    def test_few_missing_people_appear_nowhere_and_do_not_follow(self, suppressed: int) -> None:
        """37 records missing, under a policy that shows none below 50; 32,561 came in."""
        small, share = 37, 37 / records.ROWS
        changes = StatisticChange(name="education", kind="categories", total_variation=share, largest=share)
        fact = decoy_records.decoys(
            missing=small,
            choice=ChoiceFact(status="feasible", bound=small, worst_missing=small),
            attempts=attempts(66 / (66 + small)),
            statistics=decoy_records.statistics(columns=(changes,)),
        )
        record = decoy_records.with_decoys(fact, suppressed=suppressed)
        record = records.changed(
            record,
            policy=record.policy.model_copy(update={"small_cell": 50}),
            statistics=decoy_records.statistics(columns=(changes,)),
        )
        text = texts.seen(determination_html(record), figures(record).values())
        told = ["37", "0.11%", "0.1%", "64%"]
        told += ["32,524", "32,590"] if not suppressed else [str(suppressed), f"{records.ROWS - suppressed:,d}"]
        for number in told:
            assert re.search(rf"(?<![\w.,]){re.escape(number)}(?!\w|[.,]\d)", text) is None, number
        assert "<50" in text or HIDDEN in text

    @pytest.mark.parametrize(
        ("missing", "suppressed", "shown", "real"),
        [
            (186, 0, ("0", "186"), "32,375"),
            (7, 0, ("0", "<11"), ">32,550"),
            (7, 100, (HIDDEN, HIDDEN), "32,454"),
            (100, 7, (HIDDEN, HIDDEN), "32,454"),
            (4, 3, (HIDDEN, HIDDEN), ">32,550"),
            (0, 7, ("<11", "0"), ">32,550"),
        ],
    )
    def test_neither_part_of_what_is_left_out_follows_from_the_other(
        self, missing: int, suppressed: int, shown: tuple[str, str], real: str
    ) -> None:
        record = decoy_records.with_decoys(decoy_records.decoys(missing=missing), suppressed=suppressed)
        found = RecordView(record).left_out
        if shown[1] == "<11":
            assert found[1] in {"<11", HIDDEN}
        else:
            assert found == shown
        assert f"{real} of those that came in and 66 decoys, in 16 columns" in section(record, "data")

    def test_a_hidden_number_of_this_copy_has_no_share_either(self) -> None:
        record = decoy_records.with_decoys(decoy_records.decoys(missing=7), suppressed=100)
        assert record.decoys is not None
        assert record.decoys.choice is not None
        assert f"This copy {HIDDEN} –" in section(record)
        assert "how many is not shown" in section(record)

    def test_records_missing_are_not_called_suppressed(self) -> None:
        record = decoy_records.approved()
        assert "were suppressed" not in section(record, "data")
        assert "record left out – 186" in section(record, "utility")
        assert "record suppressed" not in section(record, "utility")


class TestScopeAndLimits:
    def test_the_scope_says_what_was_done_and_that_leaks_of_the_source_are_not_traced(self) -> None:
        scope = section(decoy_records.approved(), "assumed")
        assert "placed decoys in the copy and tested whether they can be distinguished from real classes" in scope
        assert "Leaks of the original data" in scope
        assert "were requested" not in scope
        assert "Leaks of the original data" not in section(records.approved(), "assumed")

    @pytest.mark.parametrize(
        ("empty", "says"),
        [
            ({"detectability": None}, "tested what recipients who compare their copies learn of them"),
            ({"detectability": None, "collusion": ()}, "placed decoys in the copy"),
        ],
    )
    def test_no_test_is_claimed_that_was_not_made(self, empty: dict[str, Any], says: str) -> None:
        text = section(decoy_records.approved(**empty), "assumed")
        assert "distinguished from real classes" not in text
        assert says in text
        assert "compare their copies" not in text or empty == {"detectability": None}

    def test_the_assumptions_say_what_decoys_do_not_protect_against(self) -> None:
        text = section(decoy_records.approved(), "limitations")
        assert "The tests covered what recipients learn who compare their copies and how well" in text
        for part in ("has the register and the method", "A leak of the original data", "Decoys bias"):
            assert part in text
        assert "by how much is stated under decoys" in text
        bare = DecoyFact(count=120, commitment_sha256=records.sha("decoys"))
        untested = section(records.changed(records.approved(), decoys=bare), "limitations")
        assert "Whether they can be found was not tested." in untested
        assert "by how much was not measured" in untested
        assert "decoy" not in section(records.approved(), "limitations").lower()


def test_every_figure_has_its_words() -> None:
    record = decoy_records.approved()
    shown = re.findall(r'<img [^>]*alt="([^"]*)"', determination_html(record))
    assert sorted(map(unescape, shown)) == sorted(figure.alt for figure in figures(record).values())
