"""What masking, record linkage and utility find of the sample records; shares belong to counts of people."""

from functools import cache

from tasks.assessments.linkage.facts import (
    AttackFact,
    LearnedFact,
    LinkageFact,
    LinkFigure,
    PartialKnowledgeFact,
    PolicyLinkage,
    UntriedAttack,
)
from tasks.assessments.utility.facts import (
    AssociationFact,
    AttributeLoss,
    ClassificationFact,
    ClassifierFact,
    ClusteringFact,
    CurvePointFact,
    FileLoss,
    MarginalFact,
    MaskingCurve,
    NotMeasured,
    NumericChangeFact,
    UtilityFact,
)
from tasks.core.wilson import wilson
from tasks.masking.facts import MaskingFact

ROWS = 32_561
SAMPLED = 2_000
SWAPPED = ("fnlwgt", "hours-per-week")
AVERAGED = ("capital-gain", "capital-loss")
QUASI = ("age", "zip", "race", "sex")
MASKED = (*SWAPPED, *AVERAGED)
KNOWN = (*QUASI, *MASKED)


def figure(correct: float, people: int = ROWS, certain: int = 0, masked: int = ROWS) -> LinkFigure:
    """Links of some people, with their score interval; a tie makes ``correct`` fractional."""
    low, high = wilson(correct, people)
    return LinkFigure(
        share=correct / people,
        low=low,
        high=high,
        people=people,
        baseline=1 / masked,
        certain_share=certain / people,
        certain=certain,
        proves_something=low > 1 / masked,
    )


def maskings() -> tuple[MaskingFact, ...]:
    """Ranks swapped of two attributes, two others microaggregated by themselves."""
    return (
        MaskingFact(
            attributes=SWAPPED,
            method="rank-swapping",
            parameters={"reading": "pair", "p": 10.0, "k": 3256},
            rounded=False,
            limited=False,
        ),
        MaskingFact(attributes=AVERAGED, method="individual-ranking", parameters={"k": 5}, rounded=True, limited=False),
    )


def attack(
    attack_id: str, title: str, knows: str, found: LinkFigure, attributes: tuple[str, ...] = KNOWN
) -> AttackFact:
    """An attack on all people or, where it is fewer, on a sample."""
    return AttackFact.model_validate(
        {
            "id": attack_id,
            "title": title,
            "knows": knows,
            "attributes": attributes,
            "sampled": found.people < ROWS,
            "figure": found,
        }
    )


@cache
def linkage() -> LinkageFact:
    """Weak masking of four attributes: most people are found by one who knows it."""
    return LinkageFact(
        known=KNOWN,
        records=ROWS,
        initial_share=28_617 / ROWS,
        attacks=(
            attack("groups-matching", "Any record whose groups hold the known values", "uninformed",
                   figure(13_019.5, certain=8_112), QUASI),
            attack("groups-nearest", "Nearest record by distance on the hierarchies", "uninformed",
                   figure(13_188.25), QUASI),
            attack("numbers-nearest", "Nearest record by standardised distance of masked numbers (DLD)", "uninformed",
                   figure(4.0), MASKED),
            attack("numbers-probabilistic", "Record of the greatest Fellegi–Sunter weight of masked numbers (PLD)",
                   "uninformed", figure(0.25, SAMPLED), MASKED),
            attack("all-nearest", "Nearest record by distance on the hierarchies and of masked numbers", "uninformed",
                   figure(902.5, SAMPLED)),
            attack("own-cell", "Any record in the groups that the rule gives the person", "informed",
                   figure(15_702, certain=10_991), QUASI),
            attack("numbers-candidates",
                   "Best of the records that the maskings allow, by numbers alone (intersection attack, RSLD)",
                   "informed", figure(116.5, SAMPLED, certain=14), MASKED),
            attack("all-candidates",
                   "Best of the records that the maskings allow, by all that is known (intersection attack, RSLD)",
                   "informed", figure(1_602.75, SAMPLED, certain=1_388)),
            attack("all-joint",
                   "Everybody at once, by all that is known: no two people have the same record",
                   "informed", figure(28_613.75, certain=26_388)),
        ),
        untried=(
            UntriedAttack(
                title="Everybody at once, by numbers alone: no two people have the same record",
                knows="informed",
                reason="too many pairs may belong together: masked numbers; expected at most 33,554,432, got "
                "231,446,092",
            ),
        ),
        strongest_uninformed="all-nearest",
        strongest_informed="all-joint",
        strongest_masked="numbers-candidates",
        partial=tuple(
            PartialKnowledgeFact(attributes=number, sets=min(10, sets), people=300, uninformed=one, informed=other)
            for number, sets, one, other in (
                (1, 8, 0.0021, 0.0034),
                (2, 28, 0.0313, 0.0602),
                (3, 56, 0.0874, 0.1921),
                (4, 70, 0.1612, 0.3866),
                (5, 56, 0.2308, 0.5710),
                (6, 28, 0.3021, 0.7340),
                (7, 8, 0.3529, 0.8377),
                (8, 1, 0.4012, 0.9105),
            )
        ),
        learned=(
            LearnedFact(
                kind="weighted mean",
                people=400,
                equal=figure(171.5, 400, masked=400),
                in_sample=figure(312, 400, masked=400),
                out_of_sample=figure(301.5, 400, masked=400),
                shares={"age": 0.11, "zip": 0.38, "race": 0.01, "sex": 0.0, "fnlwgt": 0.09, "hours-per-week": 0.06,
                        "capital-gain": 0.21, "capital-loss": 0.14},
            ),
            LearnedFact(
                kind="bilinear",
                people=400,
                equal=figure(171.5, 400, masked=400),
                in_sample=figure(327, 400, masked=400),
                out_of_sample=figure(296, 400, masked=400),
                shares={"age": 0.14, "zip": 0.33, "race": 0.02, "sex": 0.01, "fnlwgt": 0.12, "hours-per-week": 0.08,
                        "capital-gain": 0.19, "capital-loss": 0.11},
            ),
        ),
        policies=tuple(
            PolicyLinkage(
                method=method,
                chosen=method == "no-attack-partition",
                narrowed_share=narrowed,
                naive_attacked_share=naive,
                transparent_attacked_share=informed,
                uninformed=without,
                informed=within,
            )
            for method, narrowed, naive, informed, without, within in (
                ("safe-harbor", 0.0, 0.0277, 0.0277, 0.3016, 0.3016),
                ("basic", 0.7120, 0.2197, 0.2338, 0.5203, 0.5534),
                ("no-attack", 0.7318, 0.0, 0.1152, 0.4604, 0.5018),
                ("sh-friendly", 0.0941, 0.0169, 0.0205, 0.3011, 0.3040),
                ("common", 0.0, 0.0104, 0.0104, 0.3392, 0.3392),
                ("basic-partition", 0.0, 0.2213, 0.2213, 0.5121, 0.5121),
                ("no-attack-partition", 0.0, 0.0, 0.0, 0.4823, 0.4823),
            )
        ),
    )  # fmt: skip


def curve(
    attributes: tuple[str, ...], method: str, parameter: str, rows: tuple[tuple[float, float, float, float], ...],
    chosen: float,
) -> MaskingCurve:  # fmt: skip
    """Risk and utility at several strengths: strength, links of the uninformed and of the informed in 2,000, IL1s."""
    return MaskingCurve(
        attributes=attributes,
        method=method,
        parameter=parameter,
        people=SAMPLED,
        points=tuple(
            CurvePointFact(
                strength=strength,
                uninformed=without / SAMPLED,
                informed=within / SAMPLED,
                displacement=displacement,
                chosen=strength == chosen,
            )
            for strength, without, within, displacement in rows
        ),
    )


@cache
def utility() -> UtilityFact:
    """Little is lost by generalization; the masking of four numeric attributes shows."""
    return UtilityFact(
        records=ROWS,
        suppressed=0,
        file=FileLoss(
            loss=0.0419,
            entropy=0.0782,
            certainty_penalty=0.0474,
            discernibility=1_806_413.0,
            discernibility_share=0.0017,
            average_class_size=2.074,
            original_class_size=1.201,
        ),
        attributes=tuple(
            AttributeLoss(name=name, loss=loss, entropy=entropy, certainty_penalty=penalty)
            for name, loss, entropy, penalty in (
                ("age", 0.0021, 0.0288, 0.0043),
                ("zip", 0.0310, 0.0796, 0.0334),
                ("race", 0.0917, 0.0967, 0.1211),
                ("sex", 0.0631, 0.0631, 0.0631),
            )
        ),
        numeric=(
            NumericChangeFact(
                name="fnlwgt", mean=0.0, deviation_ratio=1.0, deciles=0.0, distribution=0.0, displacement=0.1714
            ),
            NumericChangeFact(
                name="hours-per-week", mean=0.0, deviation_ratio=1.0, deciles=0.0, distribution=0.0, displacement=0.1102
            ),
            NumericChangeFact(
                name="capital-gain", mean=-0.00021, deviation_ratio=0.9987, deciles=0.0, distribution=0.0011,
                displacement=0.0007,
            ),
            NumericChangeFact(
                name="capital-loss", mean=0.00004, deviation_ratio=0.9991, deciles=0.0, distribution=0.0009,
                displacement=0.0004,
            ),
        ),
        associations=tuple(
            AssociationFact(attributes=(one, other), measure=measure, before=before, after=after)
            for one, other, measure, before, after in (
                ("fnlwgt", "hours-per-week", "correlation", -0.0188, -0.0169),
                ("fnlwgt", "capital-gain", "correlation", 0.0004, 0.0003),
                ("fnlwgt", "capital-loss", "correlation", -0.0103, -0.0098),
                ("hours-per-week", "capital-gain", "correlation", 0.0784, 0.0722),
                ("hours-per-week", "capital-loss", "correlation", 0.0543, 0.0503),
                ("capital-gain", "capital-loss", "correlation", -0.0316, -0.0316),
                ("age", "zip", "Cramér's V", 0.0121, 0.0098),
                ("age", "race", "Cramér's V", 0.0502, 0.0431),
                ("age", "sex", "Cramér's V", 0.1381, 0.1299),
                ("race", "sex", "Cramér's V", 0.1184, 0.1009),
            )
        ),
        marginals=tuple(
            MarginalFact(name=name, total_variation=moved)
            for name, moved in zip(MASKED, (0.0, 0.0, 0.0217, 0.0164), strict=True)
        ),
        clustering=ClusteringFact(
            clusters=4,
            records=3_000,
            rand=0.9412,
            jaccard=0.8325,
            f_measure=0.9086,
            repeated_rand=0.9977,
            repeated_f_measure=0.9964,
        ),
        classification=ClassificationFact(
            target="salary-class",
            classes=2,
            tested=900,
            majority=0.7589,
            classifiers=tuple(
                ClassifierFact(
                    name=name,
                    trained=trained,
                    original=before / 900,
                    original_low=wilson(before, 900)[0],
                    original_high=wilson(before, 900)[1],
                    released=after / 900,
                    released_low=wilson(after, 900)[0],
                    released_high=wilson(after, 900)[1],
                )
                for name, trained, before, after in (
                    ("decision tree", 2_100, 741, 738),
                    ("naive Bayes", 2_100, 722, 719),
                    ("nearest neighbours", 2_100, 747, 740),
                    ("support vector machine", 2_000, 763, 757),
                )
            ),
        ),
        curves=(
            curve(
                SWAPPED, "rank-swapping", "p",
                ((2, 1_630, 1_958, 0.0361), (5, 1_071, 1_712, 0.0874), (10, 402, 1_106, 0.1408), (15, 161, 622, 0.1911),
                 (20, 74, 371, 0.2390), (30, 21, 140, 0.3204)),
                10,
            ),
            curve(
                AVERAGED, "individual-ranking", "k",
                ((3, 1_204, 1_871, 0.0003), (5, 1_187, 1_866, 0.0006), (10, 1_129, 1_822, 0.0013),
                 (25, 1_002, 1_711, 0.0042), (50, 840, 1_560, 0.0097)),
                5,
            ),
        ),
        not_measured=(
            NotMeasured(
                measure="Association of zip and native-country",
                reason="The table of both has more cells than records.",
            ),
        ),
    )  # fmt: skip
