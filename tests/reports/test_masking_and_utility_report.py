"""What a determination says of masked attributes and of the utility that is left."""

from typing import Any

import pytest

from reports.model.methods import masking_method, masking_parameters
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN, SmallCellRule
from reports.sections.reference import cited
from tasks.assessments.utility.facts import AssociationFact, MarginalFact, UtilityFact
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tasks.masking.facts import MaskingFact
from tasks.request.model import MaskingName
from tests.support import linkage_records, records, texts
from tests.support.rendered import determination_html


def section(record: DecisionRecord, key: str = "utility") -> str:
    return texts.sections(determination_html(record))[key]


def with_utility(**changes: Any) -> DecisionRecord:
    return records.changed(records.approved(), utility=linkage_records.utility().model_copy(update=changes))


def few_suppressed(suppressed: int, **changes: Any) -> DecisionRecord:
    """The released records are fewer than those that came in, by so many."""
    record = records.awaiting_review()
    assert record.risk is not None
    residual = record.risk.residual
    prosecutor = residual.prosecutor.model_copy(update={"records": records.ROWS - suppressed})
    risk = record.risk.model_copy(update={"residual": residual.model_copy(update={"prosecutor": prosecutor})})
    return records.changed(
        record, risk=risk, utility=linkage_records.utility().model_copy(update={"suppressed": suppressed, **changes})
    )


class TestMasking:
    def test_method_and_parameters_stand_with_what_follows_from_them(self) -> None:
        text = section(records.approved(), "method")
        assert "Rank swapping: k 3,256 ranks; p 10 % of the ranks; reading “pair”" in text
        assert "each value stays within k ranks of its own" in text
        assert "Microaggregation by individual ranking: k 5 records at least" in text
        assert "masked values rounded to whole numbers" in text
        assert "masked: Rank swapping" in section(records.approved(), "fields")

    def test_a_file_without_masking_says_nothing_of_it(self) -> None:
        record = records.without_adversaries()
        assert "Masking" not in section(record, "method")
        assert "masked" not in section(record, "data")
        assert "fnlwgt, hours-per-week, capital-gain, capital-loss were masked" in section(records.approved(), "data")
        assert "fnlwgt, hours-per-week, capital-gain, capital-loss are masked." in section(records.approved(), "loss")

    @pytest.mark.parametrize("method", list(MaskingName))
    def test_every_method_of_a_request_can_be_explained(self, method: MaskingName) -> None:
        text = masking_method(method.value)
        assert text.title[0].isupper()
        assert len(text.derived) > 40

    @pytest.mark.parametrize(
        ("method", "parameters", "words"),
        [
            ("rank-swapping-p-buckets", {"buckets": 5}, "5 buckets"),
            (
                "rank-swapping-p-distribution",
                {"p": 10.0, "mean": 5.0, "standard_deviation": 5.0},
                "moves by 5 ranks on average; p 10 % of the ranks; standard deviation 5 ranks",
            ),
            ("mdav", {"k": 25, "distances": "between standardised values"},
             "distances between standardised values; k 25 records at least"),
            # A percentage of something else than ranks, were it a parameter of this method.
            ("mdav", {"p": 10.0}, "p 10"),
        ],
    )  # fmt: skip
    def test_parameters_have_the_words_of_their_own_method(
        self, method: str, parameters: dict[str, float | str], words: str
    ) -> None:
        assert masking_parameters(method, parameters) == words

    def test_parameters_are_written_in_words(self) -> None:
        facts = (
            MaskingFact(attributes=("a",), method="rank-swapping-p-distribution", rounded=False, limited=False,
                        parameters={"p": 2.5, "mean": 406.9, "standard_deviation": 406.9}),
            MaskingFact(attributes=("b",), method="additive-noise", parameters={"proportion": 0.05, "new_thing": "x"},
                        rounded=True, limited=True),
            MaskingFact(attributes=("c",), method="rank-swapping-p-buckets", parameters={"buckets": 20}, rounded=False,
                        limited=False),
            MaskingFact(attributes=("d",), method="mdav", parameters={}, rounded=False, limited=False),
        )  # fmt: skip
        record = records.changed(records.approved(), masking=facts)
        text = section(record, "method")
        assert ("moves by 406.9 ranks on average; p 2.5 % of the ranks; standard deviation 406.9 ranks") in text
        assert "new thing x; variance of the noise 0.05 times that of the attribute" in text
        assert "masked values rounded to whole numbers and kept within the declared bounds" in text
        assert "p-buckets: 20 buckets" in text
        assert "Microaggregation by MDAV nothing is drawn" in section(record, "method")

    def test_a_method_that_the_report_cannot_explain_stops_it(self) -> None:
        with pytest.raises(StageFailed, match="names a method"):
            masking_method("something-new")


class TestUtility:
    def test_losses_stand_by_attribute_with_the_whole_file_last(self) -> None:
        text = section(records.approved())
        assert "zip 3.10% 7.96% 3.34%" in text
        assert "All of them 4.19% 7.82% 4.74%" in text
        assert "The average class holds 2.074 records, 1.201 in the source." in text
        assert "is 1.806 × 10⁶, 0.17% of the way" in text

    def test_exact_values_stand_beside_those_of_the_best_partition(self) -> None:
        """27,214 of 32,561 ages and 24,660 ZIP codes as collected; by the partition 79.38% and 87.79%."""
        text = section(records.blocked())
        assert "Attribute Level Groups Records Share Whole cells" in text
        assert "as collected 121 27,214 83.58% 79.38% level 1 61 3,911 12.01% – level 2" in text
        assert "as collected 628 24,660 75.73% 87.79% level 1" in text
        applied = section(records.approved())
        assert "as collected 121 27,214 83.58% level 1 61" in applied
        assert "Whole cells" not in applied

    def test_exact_values_do_not_tell_few_suppressed_records(self) -> None:
        record = records.awaiting_review()
        few = records.changed(
            record,
            fields=tuple(
                one.model_copy(update={"records_per_level": (2_000, records.ROWS - 2_006)})
                if one.name == "sex"
                else one
                for one in record.fields
            ),
        )
        assert f"as collected 2 {HIDDEN} {HIDDEN} withheld" in section(few)

    def test_changes_of_masked_attributes_are_in_deviations(self) -> None:
        text = section(records.approved())
        assert "capital-gain −0.0002 0.9987 0.0000 0.0011 2.17% 0.0007" in text
        assert "fnlwgt 0.0000 1.0000 0.0000 0.0000 0% 0.1714" in text

    def test_the_associations_that_changed_most_come_first(self) -> None:
        record = records.approved()
        text = section(record)
        assert "that changed most" not in text
        many = tuple(
            AssociationFact(attributes=(f"a{number}", "b"), measure="correlation", before=0.5, after=0.5 - number / 100)
            for number in range(45)
        )
        most = section(with_utility(associations=many))
        assert "the 10 that changed most of 45" in most
        assert "a35 and b correlation" in most
        assert "a34 and b correlation" not in most
        assert "race and sex Cramér's V 0.118 0.101 age and sex Cramér's V 0.138 0.130" in text
        fact = linkage_records.utility()
        unknown = AssociationFact(attributes=("a", "b"), measure="correlation", before=None, after=0.5)
        text = section(with_utility(associations=(unknown, *fact.associations[:2])))
        assert "a and b correlation – 0.500 " in text

    def test_an_association_that_rises_is_explained(self) -> None:
        assert "a figure may rise" not in section(records.approved())
        risen = AssociationFact(attributes=("age", "sex"), measure="Cramér's V", before=0.1, after=0.5)
        told = section(with_utility(associations=(risen,)))
        assert "A figure may therefore rise, which is as much a distortion as a fall." in told

    def test_clusters_and_classifiers_stand_beside_what_they_compare_with(self) -> None:
        text = section(records.approved())
        assert "Rand 1971); of those together in either, 83.25% are together in both (Jaccard); F is 0.909." in text
        assert "from different starts agree by 99.77% (Rand), F 0.996" in text
        assert "Naive Bayes 2,100 80.22% (77.49–82.69%) 79.89% (77.15–82.38%)" in text
        assert "Always the commonest class – 75.89% 75.89%" in text
        assert "Association of zip and native-country (The table of both has more cells than records)." in text

    def test_what_has_no_figure_is_a_dash(self) -> None:
        fact = linkage_records.utility()
        constant = fact.numeric[0].model_copy(
            update={"mean": None, "deviation_ratio": None, "deciles": None, "displacement": None}
        )
        single = fact.attributes[0].model_copy(update={"loss": None, "entropy": None, "certainty_penalty": None})
        text = section(with_utility(numeric=(constant,), attributes=(single,), marginals=()))
        assert "fnlwgt – – – 0.0000 – –" in text
        assert "age – – –" in text

    def test_what_was_not_made_leaves_no_heading_behind(self) -> None:
        text = section(
            with_utility(
                numeric=(), associations=(), marginals=(), clustering=None, classification=None, curves=(),
                not_measured=(),
            )
        )  # fmt: skip
        for words in (
            "Analyses of both files",
            "Masked attributes",
            "k-means",
            "Classifier",
            "Not measured",
            "at other strengths",
        ):
            assert words not in text
        assert "Loss by the measures of the field" in text

    def test_without_the_stage_there_is_one_line_that_says_so(self) -> None:
        record = records.changed(records.approved(), utility=None, not_assessed=())
        text = section(record)
        assert "clustering and classification were not measured: the stage did not finish." in text
        assert "Information kept" in text
        assert "Utility The stage did not finish" in section(record, "assumed")


class TestCurves:
    def test_every_strength_has_its_change_and_its_links(self) -> None:
        text = section(records.approved())
        assert "p 10 (applied) 0.1408 20.10% 55.30%" in text
        assert "Microaggregation by individual ranking: capital-gain, capital-loss" in text
        assert "<b>p 10 (applied)</b>" in determination_html(records.approved()), "the strength applied"

    def test_few_links_are_a_bound(self) -> None:
        def shown(few: int) -> str:
            curve = linkage_records.curve(
                linkage_records.SWAPPED, "rank-swapping", "p", ((5, few, 2_000 - few, 0.1), (10, 40, 90, 0.2)), 10
            )
            return section(with_utility(curves=(curve,)))

        assert shown(2) == shown(9)
        assert shown(30) != shown(31)

    @pytest.mark.parametrize("number", [1, 3, 4])
    def test_any_number_of_maskings_is_shown(self, number: int) -> None:
        curve = linkage_records.utility().curves[1]
        text = section(with_utility(curves=(curve,) * number))
        assert text.count("Microaggregation by individual ranking: ") == number


class TestSmallCells:
    def test_few_suppressed_records_do_not_follow_from_losses(self) -> None:
        """An attribute that no record was generalized in loses exactly the suppressed share."""

        def shown(suppressed: int) -> set[str]:
            share = suppressed / records.ROWS
            fact = linkage_records.utility()
            attributes = tuple(
                one.model_copy(update={"loss": share, "entropy": share, "certainty_penalty": share})
                for one in fact.attributes
            )
            marginals = (MarginalFact(name="age", total_variation=share),)
            record = few_suppressed(suppressed, attributes=attributes, marginals=marginals)
            return {section(record).partition("Loss by the measures")[2]}

        assert shown(1) == shown(5) == shown(10)

    def test_losses_are_rounded_to_what_hides_the_limit(self) -> None:
        rule = SmallCellRule(11)
        assert rule.step(records.ROWS) == 0.001
        assert "zip about 3.1% about 8.0% about 3.3%" in section(few_suppressed(4))
        assert rule.stepped(0.04187, 0.001) == "about 4.2%"
        assert rule.stepped(0.38, 0.05) == "about 40%"
        assert rule.stepped(0.38, rule.step(20)) == HIDDEN

    def test_discernibility_is_not_shown_beside_few_suppressed_records(self) -> None:
        text = section(few_suppressed(4))
        assert "Discernibility is not shown, since few records were suppressed." in text
        assert "1.806" not in text
        assert "would have to change value: age" in section(
            few_suppressed(40, marginals=(MarginalFact(name="age", total_variation=0.01),))
        )

    def test_few_records_of_the_other_classes_do_not_follow_from_the_commonest(self) -> None:
        made = linkage_records.utility().classification
        assert made is not None
        found = set()
        for few in (2, 7):
            share = 1 - few / made.tested
            classifiers = tuple(
                one.model_copy(update={"original": share, "released": share}) for one in made.classifiers
            )
            changed = made.model_copy(update={"majority": share, "classifiers": classifiers})
            record = with_utility(classification=changed)
            assert record.utility is not None
            found.add(section(record))
            assert ">98.70% >98.70%" in section(record)
        assert len(found) == 1

    def test_few_records_that_moved_are_a_bound(self) -> None:
        def moved(count: int) -> str:
            record = with_utility(marginals=(MarginalFact(name="fnlwgt", total_variation=count / records.ROWS),))
            assert record.utility is not None
            return section(record).partition("fnlwgt 0.0000")[2].split()[3]

        assert moved(3) == moved(9) == "<0.03%"
        assert moved(0) == "0%"


class TestReferences:
    def test_only_what_was_used_is_cited(self) -> None:
        used = " ".join(cited(RecordView(records.approved())))
        for paper in (
            "Torra V (2016)",
            "Fellegi",
            "Sinkhorn",
            "Wilson EB",
            "Prasser",
            "Lloyd",
            "Bergsma",
            "Mateo-Sanz",
        ):
            assert paper in used
        without = " ".join(cited(RecordView(records.without_adversaries())))
        for paper in (
            "Torra V (2016)",
            "Fellegi",
            "Sinkhorn",
            "Wilson EB",
            "Prasser",
            "Lloyd",
            "Xia W, Heath",
            "Orooji",
        ):
            assert paper not in without
        assert "Wan Z" in without

    def test_attacks_and_measures_that_were_not_made_are_not_cited(self) -> None:
        record = with_utility(associations=(), clustering=None, numeric=(), curves=())
        assert record.risk is not None
        assert record.risk.linkage is not None
        kept = [one for one in record.risk.linkage.attacks if one.id not in {"numbers-probabilistic", "all-joint"}]
        linkage = record.risk.linkage.model_copy(update={"attacks": tuple(kept), "strongest_informed": "own-cell"})
        record = records.changed(record, masking=(), risk=record.risk.model_copy(update={"linkage": linkage}))
        used = " ".join(cited(RecordView(record)))
        for paper in ("Fellegi", "Sinkhorn", "Lloyd", "Bergsma", "Domingo-Ferrer"):
            assert paper not in used
        assert "Wilson EB" in used

    def test_they_are_in_the_order_of_their_authors_and_markup_stays_text(self) -> None:
        papers = cited(RecordView(records.approved()))
        assert list(papers) == sorted(papers, key=str.casefold)
        assert len(set(papers)) == len(papers)
        assert "Medicare &amp; Medicaid" in determination_html(records.approved())


def test_the_whole_is_filled_in_for_a_file_with_everything(any_record: DecisionRecord) -> None:
    fact = any_record.utility
    assert fact is None or isinstance(fact, UtilityFact)
    shown = texts.seen(determination_html(any_record))
    assert ("Attributes known" in shown) == bool(any_record.risk and any_record.risk.linkage)
    assert ("Each masking at other strengths" in shown) == (fact is not None)
