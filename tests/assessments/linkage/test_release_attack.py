"""The attack on a whole release: what the intruder holds, which attacks are made, and what gates judge of them."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.assessments.linkage.assessment import policy_linkage
from tasks.assessments.linkage.attempts import all_made
from tasks.assessments.linkage.facts import (
    NUMBERS_ALONE,
    AttackFact,
    LinkageFact,
    gate_figures,
    gate_intervals,
    judged_attack,
    judged_certain,
    judged_share,
    least_figures,
    link_figure,
)
from tasks.assessments.linkage.holdings import Holdings, holdings_of, known_attributes, known_numbers
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.core.errors import ParameterError, StageFailed
from tasks.core.wilson import wilson
from tasks.request.model import Measure, Method
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.stages import Made, made
from tests.support.tiny import WHOLE_CELLS, Change, changed, tiny_request
from tests.support.worlds import WITHOUT_TERMS

SWAP = masking("rank-swapping", "dose", p=10)
GROUPS = masking("mdav", "income", "visits", k=3)
RULELESS = {"groups-matching", "groups-nearest", "groups-likeliest"}
Release = Callable[..., Made]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    def make(*maskings: dict[str, Any], records: int = 60, changes: Collection[Change] = ()) -> Made:
        return made(numeric_request(tmp_path, *changes, maskings=maskings, frame=drawn(records)))

    return make


def known(*names: str, **terms: Any) -> Change:
    """What the intruder holds; without learning, which is tested by itself."""
    return changed("policy", "linkage", to={"learned": False} | ({"known": list(names)} if names else {}) | terms)


def held(one: Made) -> Holdings:
    return holdings_of(one.candidate)


def known_by(one: Made) -> tuple[str, ...]:
    return known_attributes(one.request, one.candidate.prepared)


def ids(fact: LinkageFact, knows: str | None = None) -> set[str]:
    return {attack.id for attack in fact.attacks if knows in (None, attack.knows)}


# What is known.


def test_the_intruder_knows_what_others_may_know(release: Release) -> None:
    sure = changed("attributes", "ward", "known_probability", to=1)
    likely = changed("attributes", "diagnosis", "known_probability", to=0.99)
    assert known_by(release()) == ("zip", "age", "sex")
    assert known_by(release(SWAP)) == ("zip", "age", "sex", "dose")
    assert known_by(release(GROUPS, SWAP, changes=[sure, likely])) == (
        "zip",
        "age",
        "sex",
        "income",
        "dose",
        "visits",
        "ward",
    )


def test_the_file_as_collected_is_linked_by_the_same_attributes(release: Release) -> None:
    """One right link for each kind of record: the intruder guesses among those that are alike."""
    for names in ((), ("age",), ("ward", "dose", "age")):
        one = release(SWAP, changes=[known(*names)])
        together = drawn(60)[list(known_by(one))]
        assert held(one).collected_share == len(together.drop_duplicates()) / 60
        assert one.attacked(quick=True).initial_share == held(one).collected_share


def test_the_policy_says_what_the_intruder_knows(release: Release) -> None:
    one = release(SWAP, changes=[known("ward", "dose", "age")])
    assert known_by(one) == ("age", "dose", "ward")
    have = held(one)
    assert (have.quasi, have.unchanged, have.number_names) == ((1,), ("ward",), ("dose",))
    assert not have.knows_the_cell
    assert have.compared == ("age", "dose")
    assert len(np.unique(have.classes(have.unchanged))) == 3
    assert have.parts[0].complete


def test_a_column_of_numbers_that_is_not_masked_leaves_as_it_is(release: Release) -> None:
    have = held(release(changes=[known("dose", "sex")]))
    assert (have.unchanged, have.parts) == (("dose",), ())
    dose = drawn(60)["dose"]
    assert len(np.unique(have.classes(have.unchanged))) == dose.nunique()


def test_an_attribute_that_masking_makes_one_value_is_left_out(release: Release) -> None:
    have = held(release(masking("mdav", "income", "visits", k=40), SWAP))
    assert have.number_names == ("dose",)
    alone = held(release(masking("individual-ranking", "dose", k=40)))
    assert (alone.parts, alone.number_names, alone.compared) == ((), (), ("zip", "age", "sex"))


def test_a_column_that_is_withheld_from_every_record_has_no_weight(release: Release) -> None:
    terms = {"method": "k-anonymity", "k_anonymity": {"k": 60}}
    learning = changed("policy", "linkage", to={"individuals": 100})
    one = release(SWAP, records=200, changes=[changed("policy", "generalization", to=terms), learning])
    shown = {
        name for name, cells in zip(("zip", "age", "sex"), one.generalization.cells.T, strict=True) if np.ptp(cells)
    }
    assert shown == {"sex"}
    found = one.attacked()
    assert {name for fact in found.learned for name in fact.shares} == {"sex", "dose"}
    assert found.attack("all-learned").attributes == ("sex", "dose")


def test_who_lacks_one_of_the_attributes_cannot_run_the_method_again(release: Release) -> None:
    """Of two attributes masked together, one is known only, or is the same everywhere once it is rounded."""
    assert not held(release(GROUPS, changes=[known("visits")])).parts[0].complete
    frame = drawn(60)
    frame["visits"] = ["1", *["0"] * 59]
    rounded = made(numeric_request(release().loaded.base, maskings=(GROUPS,), frame=frame))
    assert set(rounded.columns.masked[:, 1]) == {0}
    (part,) = held(rounded).parts
    assert (part.complete, part.original.shape) == (False, (60, 1))


def test_holding_less(release: Release) -> None:
    have = held(release(GROUPS, SWAP, changes=[known("zip", "age", "sex", "ward", "income", "dose", "visits")]))
    some = have.only({"visits", "dose", "sex"})
    assert some.names == ("sex", "dose", "visits")
    assert (some.quasi, some.unchanged, some.classes(some.unchanged).tolist()) == ((2,), (), [0] * 60)
    assert some.number_names == ("visits", "dose")
    assert [part.complete for part in some.parts] == [False, True]
    assert (some.parts[0].masked[:, 0] == have.parts[0].masked[:, 1]).all()
    assert some.parts[1] is have.parts[1]
    assert have.only({"visits"}).parts[0] is some.parts[0]
    same = have.only(set(have.names))
    assert (same.names, same.parts, same.quasi) == (have.names, have.parts, have.quasi)
    assert have.only({"ward"}).unchanged == ("ward",)
    assert have.only({"ward"}).unchanged == have.unchanged


def test_numbers_in_clear_are_no_safer_than_masked_ones(release: Release) -> None:
    """Of numbers that may be known; by these alone, and beside those that are masked."""
    may = [changed("attributes", name, "known_probability", to=None) for name in ("dose", "income", "visits")]
    shares = []
    for maskings in ((), (SWAP,), (SWAP, masking("mdav", "income", "visits", k=3))):
        fact = release(*maskings, changes=[*may, known()]).attacked(quick=True)
        shares.append(gate_figures(fact)[Measure.LINKED_MASKED])
    numbers = drawn(60)[["dose", "income", "visits"]]
    assert shares[0] == len(numbers.drop_duplicates()) / 60
    assert shares == sorted(shares, reverse=True)
    assert gate_figures(release(changes=[known()]).attacked(quick=True))[Measure.LINKED_MASKED] == 0


def test_the_column_decides_what_is_known_and_not_its_masking(release: Release) -> None:
    """A number is known of everybody with whatever probability it may be known, and in no attack if nobody knows it."""
    for terms, expected in ((None, True), (0.02, True), (0, False), (1, True)):
        change = changed("attributes", "dose", "known_probability", to=terms)
        for maskings in ((), (SWAP,)):
            one = release(*maskings, changes=[change])
            assert ("dose" in known_by(one)) is expected
            assert ("dose" in known_numbers(one.request, one.candidate.prepared)) is expected


def test_numbers_that_may_be_known_stay_in_the_attacks_by_everything(release: Release) -> None:
    """Stating that a masked number is seldom known makes the intruder with everything no weaker."""
    found = []
    for terms in (None, 0.2, 0.9):
        change = changed("attributes", "dose", "known_probability", to=terms)
        fact = release(SWAP, changes=[change, known()]).attacked(quick=True)
        assert "dose" in fact.attack("all-joint").attributes
        found.append(gate_figures(fact))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("written", ["{:,}", "'{}'", "{:.2f} €", "{:_}", "{:08d}"])
def test_numbers_typed_as_text_are_judged_as_numbers(tmp_path: Path, written: str) -> None:
    """However they are written, and with a word among them; words and dates are no numbers."""
    frame = drawn(60)
    frame["income"] = [written.format(int(value)) for value in frame["income"]]
    frame.loc[7, "income"] = "unknown"
    frame["ward"] = [f"W{row}" for row in range(60)]
    terms = {"role": "sensitive", "type": "text", "known_probability": None}
    text = [changed("attributes", "income", term, to=value) for term, value in terms.items()]
    one = made(numeric_request(tmp_path, *text, known(), frame=frame))
    assert one.candidate.prepared.numerals == ("income",)
    assert gate_figures(one.attacked(quick=True))[Measure.LINKED_MASKED] == frame["income"].nunique() / 60
    nobody = changed("attributes", "income", "known_probability", to=0)
    alone = made(numeric_request(tmp_path, *text, nobody, known(), frame=frame)).attacked(quick=True)
    assert gate_figures(alone)[Measure.LINKED_MASKED] == 0


def test_knowledge_that_leaves_out_every_number_leaves_nothing_to_judge(release: Release) -> None:
    """Masked or in clear: the figure of the gate is missing, which closes it."""
    may = changed("attributes", "dose", "known_probability", to=None)
    for maskings in ((), (SWAP,)):
        fact = release(*maskings, changes=[may, known("zip", "age")]).attacked(quick=True)
        assert fact.left_out == ("dose",)
        assert Measure.LINKED_MASKED not in gate_figures(fact)
        fact = release(*maskings, changes=[may, known("zip", "dose")]).attacked(quick=True)
        assert (fact.left_out, Measure.LINKED_MASKED in gate_figures(fact)) == ((), True)


def test_no_interval_exceeds_what_the_values_link_as_collected(release: Release) -> None:
    """Of 300 records of a few kinds a sample is attacked, whose upper end would exceed one link a kind."""
    may = changed("attributes", "visits", "known_probability", to=None)
    one = release(masking("rank-swapping", "visits", p=1), records=300, changes=[may, known(individuals=100)])
    kinds = drawn(300)["visits"].nunique() / 300
    fact = one.attacked(quick=True)
    candidates = fact.attack("numbers-candidates")
    assert (candidates.sampled, candidates.most) == (True, kinds)
    assert judged_share(candidates) == min(candidates.figure.high, kinds)
    assert gate_figures(fact)[Measure.LINKED_MASKED] <= kinds


# Which attacks are made.


@pytest.mark.parametrize(
    ("maskings", "names", "uninformed", "informed"),
    [
        ((), (), RULELESS, {"own-cell"}),
        ((), ("zip", "sex"), RULELESS, {"own-cell"}),
        ((), ("ward",), {"unchanged"}, set()),
        (
            (),
            ("zip", "age", "sex", "ward"),
            {*RULELESS, "unchanged", "all-matching", "all-nearest"},
            {"own-cell", "all-equal"},
        ),
        ((SWAP,), ("dose",), {"numbers-nearest", "numbers-probabilistic"}, {"numbers-candidates", "numbers-joint"}),
        (
            (SWAP,),
            ("dose", "ward"),
            {"numbers-nearest", "numbers-probabilistic", "unchanged"},
            {"numbers-candidates", "numbers-joint", "all-candidates", "all-joint"},
        ),
        (
            (SWAP, GROUPS),
            (),
            {*RULELESS, "numbers-nearest", "numbers-probabilistic", "all-matching", "all-nearest"},
            {"own-cell", "numbers-candidates", "numbers-joint", "all-candidates", "all-joint"},
        ),
        (
            (SWAP,),
            ("age", "dose"),
            {*RULELESS, "numbers-nearest", "numbers-probabilistic", "all-matching", "all-nearest"},
            {"own-cell", "numbers-candidates", "numbers-joint"},
        ),
    ],
)
def test_every_attack_that_the_knowledge_allows_is_made(
    maskings: Any, names: tuple[str, ...], uninformed: set[str], informed: set[str], release: Release
) -> None:
    fact = release(*maskings, changes=[known(*names)]).attacked(quick=True)
    assert (ids(fact, "uninformed"), ids(fact, "informed")) == (uninformed, informed)
    assert fact.untried == ()
    assert fact.records == 60
    assert {name for attack in fact.attacks for name in attack.attributes} == set(fact.known)
    for attack in fact.attacks:
        assert 0 <= attack.figure.low <= attack.figure.share <= attack.figure.high <= 1
        assert 0 <= attack.figure.certain_share <= attack.figure.share + 1e-12
        assert not attack.sampled
        assert attack.figure.people == 60
    assert (fact.strongest_masked in NUMBERS_ALONE) if maskings else fact.strongest_masked is None


def test_what_leaves_as_it_is_is_compared_by_hand(release: Release) -> None:
    one = release(changes=[known("ward", "diagnosis")])
    frame = drawn(60)
    attacks = all_made(held(one), np.arange(60), np.random.default_rng(0), hasty=False)
    pairs = list(zip(frame["ward"], frame["diagnosis"], strict=True))
    (attack,) = attacks.made
    assert attack.figure.share == pytest.approx(len(set(pairs)) / 60)
    assert attack.figure.certain == sum(pairs.count(pair) == 1 for pair in pairs)
    fact = one.attacked()
    assert fact.strongest_uninformed == fact.strongest_informed == "unchanged"
    assert [point.attributes for point in fact.partial] == [1, 2]


def test_suppressed_records_are_no_candidates(release: Release) -> None:
    one = release(SWAP, changes=[known(), changed("policy", "generalization", to={"minimum_class_size": 14})])
    left = int(one.kept[one.prepared.tuple_of_record].sum())
    assert 0 < left < 60
    fact = one.attacked()
    assert fact.records == left
    assert {attack.figure.people for attack in fact.attacks} == {left}
    assert {attack.figure.baseline for attack in fact.attacks} == {1 / left}


def test_an_attack_that_cannot_be_made_is_named_with_its_reason(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gates judge the most that it could have linked: what the same attributes link in the file as collected."""

    def fails(*_: Any) -> Linkage:
        raise ParameterError("it is too much", where="here", expected="less", got="more", fix="none")

    one = release(masking("rank-swapping", "visits", p=80), records=300, changes=[known("visits")])
    before = gate_figures(one.attacked(quick=True))
    monkeypatch.setattr("tasks.assessments.linkage.informed.joint_linkage", fails)
    fact = one.attacked(quick=True)
    (untried,) = fact.untried
    assert (untried.id, untried.knows, "too much" in untried.reason) == ("numbers-joint", "informed", True)
    assert "numbers-joint" not in ids(fact)
    assert fact.strongest_informed in {"numbers-candidates", "numbers-nearest", "numbers-probabilistic"}
    assert untried.most == drawn(300)["visits"].nunique() / 300
    after = gate_figures(fact)
    for measure in (Measure.LINKED_MASKED, Measure.LINKED_INFORMED, Measure.CERTAIN_INFORMED):
        assert before[measure] < after[measure] == untried.most
    assert after[Measure.LINKED_UNINFORMED] == before[Measure.LINKED_UNINFORMED]


def test_where_nothing_that_is_known_varies_the_release_is_blocked(release: Release) -> None:
    one = release(masking("individual-ranking", "dose", k=40), changes=[known("dose")])
    with pytest.raises(StageFailed, match="no attack could be made") as caught:
        one.attacked()
    assert caught.value.where == "policy.linkage.known"


def test_the_same_chance_gives_the_same_attacks(release: Release) -> None:
    one = release(SWAP, records=150, changes=[known(individuals=100)])
    assert one.attacked(methods=()) == one.attacked(methods=())


# What is judged.


def attack_fact(name: str, knows: str, correct: float, people: int, *, sampled: bool, certain: int = 0) -> AttackFact:
    return AttackFact.model_validate(
        {
            "id": name,
            "title": name,
            "knows": knows,
            "attributes": ("age",),
            "sampled": sampled,
            "figure": link_figure(Linkage(correct, people, 1 / 1000, certain, certain)),
        }
    )


def linkage_fact(*attacks: AttackFact, masked: str | None = None) -> LinkageFact:
    def judged(knows: tuple[str, ...]) -> str:
        return max((one for one in attacks if one.knows in knows), key=judged_share).id

    return LinkageFact(
        known=("age",),
        records=1000,
        attacks=attacks,
        strongest_uninformed=judged(("uninformed",)),
        strongest_informed=judged(("uninformed", "informed")),
        strongest_masked=masked,
    )


def test_a_sample_is_judged_by_the_upper_end_of_its_interval() -> None:
    everybody = attack_fact("groups-matching", "uninformed", 40, 1000, sampled=False, certain=7)
    few = attack_fact("numbers-candidates", "informed", 3, 100, sampled=True, certain=1)
    assert judged_share(everybody) == 0.04
    assert judged_share(few) == wilson(3, 100)[1] > 0.08
    assert (judged_certain(everybody), judged_certain(few)) == (0.007, wilson(1, 100)[1])
    fact = linkage_fact(everybody, few, masked="numbers-candidates")
    assert fact.strongest_informed == "numbers-candidates"
    assert gate_figures(fact) == {
        Measure.LINKED_UNINFORMED: 0.04,
        Measure.LINKED_INFORMED: wilson(3, 100)[1],
        Measure.LINKED_MASKED: wilson(3, 100)[1],
        Measure.CERTAIN_UNINFORMED: 0.007,
        Measure.CERTAIN_INFORMED: wilson(1, 100)[1],
    }


def test_only_estimates_have_an_interval() -> None:
    everybody = attack_fact("groups-matching", "uninformed", 40, 1000, sampled=False)
    few = attack_fact("all-candidates", "informed", 30, 100, sampled=True)
    intervals = gate_intervals(linkage_fact(everybody, few))
    assert Measure.LINKED_UNINFORMED not in intervals
    assert Measure.LINKED_MASKED not in intervals
    around, people = intervals[Measure.LINKED_INFORMED]
    assert (around.low, around.high, around.level, people) == (*wilson(30, 100), 0.95, 100)
    around, people = intervals[Measure.CERTAIN_INFORMED]
    assert (around.low, around.high, people) == (*wilson(0, 100), 100)
    assert not gate_intervals(linkage_fact(everybody, masked="groups-matching"))


@pytest.mark.parametrize("figures", [gate_figures, least_figures])
def test_the_judged_attack_is_the_one_that_the_figure_is_of(figures: Any) -> None:
    everybody = attack_fact("groups-matching", "uninformed", 40, 1000, sampled=False, certain=30)
    few = attack_fact("numbers-candidates", "informed", 30, 100, sampled=True, certain=1)
    fact = linkage_fact(everybody, few, masked="numbers-candidates")
    judged = {measure: judged_attack(fact, measure) for measure in gate_figures(fact)}
    assert {measure: attack.id for measure, attack in judged.items() if attack} == {
        Measure.LINKED_UNINFORMED: "groups-matching",
        Measure.LINKED_INFORMED: "numbers-candidates",
        Measure.LINKED_MASKED: "numbers-candidates",
        Measure.CERTAIN_UNINFORMED: "groups-matching",
        Measure.CERTAIN_INFORMED: "numbers-candidates",
    }
    assert judged_attack(fact, Measure.UTILITY_LOSS) is None
    expected = figures(fact)
    assert expected[Measure.LINKED_INFORMED] == wilson(30, 100)[figures is gate_figures]
    assert expected[Measure.CERTAIN_UNINFORMED] == 0.03


def test_who_knows_the_method_is_judged_no_weaker(release: Release) -> None:
    """An informed intruder has the uninformed attacks too."""
    strong = attack_fact("groups-matching", "uninformed", 90, 1000, sampled=False, certain=9)
    weak = attack_fact("own-cell", "informed", 10, 1000, sampled=False)
    figures = gate_figures(linkage_fact(strong, weak))
    assert figures[Measure.LINKED_INFORMED] == figures[Measure.LINKED_UNINFORMED] == 0.09
    assert figures[Measure.CERTAIN_INFORMED] == figures[Measure.CERTAIN_UNINFORMED] == 0.009
    assert figures[Measure.LINKED_MASKED] == 0
    for maskings in ((), (SWAP, GROUPS)):
        found = gate_figures(release(*maskings, changes=[known()]).attacked(methods=()))
        assert found[Measure.LINKED_INFORMED] >= found[Measure.LINKED_UNINFORMED]
        assert found[Measure.LINKED_INFORMED] >= found[Measure.LINKED_MASKED]
        assert found[Measure.CERTAIN_INFORMED] >= found[Measure.CERTAIN_UNINFORMED]


def test_the_costlier_attacks_try_a_sample(release: Release) -> None:
    found = release(SWAP, records=300, changes=[known(individuals=100)]).attacked(quick=True)
    people = {attack.id: (attack.figure.people, attack.sampled) for attack in found.attacks}
    assert people == {
        **dict.fromkeys([*RULELESS, "numbers-nearest", "own-cell", "numbers-joint", "all-joint"], (300, False)),
        **dict.fromkeys(
            ["numbers-probabilistic", "all-matching", "all-nearest", "numbers-candidates", "all-candidates"],
            (100, True),
        ),
    }
    masked = found.attack(found.strongest_masked or "")
    assert gate_figures(found)[Measure.LINKED_MASKED] == judged_share(masked)
    assert gate_figures(found)[Measure.LINKED_MASKED] == max(
        judged_share(attack) for attack in found.attacks if attack.id in NUMBERS_ALONE
    )


# Less knowledge, other policies, learned weights.


def test_who_knows_more_finds_no_fewer(release: Release) -> None:
    fact = release(SWAP, GROUPS, changes=[known()]).attacked(methods=())
    assert [point.attributes for point in fact.partial] == [1, 2, 3, 4, 5, 6]
    assert all(1 <= point.sets <= 3 and point.people == 60 for point in fact.partial)
    last = fact.partial[-1]
    for point in fact.partial:
        assert 0 <= point.uninformed <= point.informed <= 1
        assert last.uninformed >= point.uninformed
        assert last.informed >= point.informed
    assert last.sets == 1
    assert last.informed == max(attack.figure.share for attack in fact.attacks)
    assert last.uninformed == max(attack.figure.share for attack in fact.attacks if attack.knows == "uninformed")


def test_a_rule_with_whole_cells_for_pre_images_gives_nothing_away(tmp_path: Path) -> None:
    fact = made(tiny_request(tmp_path, WHOLE_CELLS)).attacked()
    by_method = {one.method: one for one in fact.policies}
    assert by_method.keys() == {method.value for method in WITHOUT_TERMS}
    assert [name for name, one in by_method.items() if one.chosen] == ["no-attack-partition"]
    for name in ("no-attack-partition", "basic-partition", "common"):
        one = by_method[name]
        assert one.narrowed_share == 0
        assert one.naive_attacked_share == one.transparent_attacked_share
        assert one.informed == pytest.approx(one.uninformed)
    told = by_method["no-attack"]
    assert told.narrowed_share == pytest.approx(1 / 6)
    assert (told.naive_attacked_share, told.transparent_attacked_share) == (0, pytest.approx(1 / 6))


def test_files_share_figures_only_where_they_are_equal(tmp_path: Path) -> None:
    """One index serves all recipients; a copy that withholds a record of the same cells is another file."""
    one = made(tiny_request(tmp_path)).candidate
    less = replace(one, already_released=one.released & (np.arange(len(one.released)) > 0))
    alone = [policy_linkage(replace(each, index=replace(each.index, linked={}))) for each in (one, less)]
    assert [policy_linkage(each) for each in (one, less, one)] == [*alone, alone[0]]
    assert alone[0].uninformed != alone[1].uninformed
    assert len(one.index.linked) == 2


def test_k_anonymity_after_a_partition_is_no_control_and_after_one_strategy_is(tmp_path: Path) -> None:
    demand = changed("policy", "generalization", "k_anonymity", to={"k": 3, "suppression_limit": 0})
    fact = made(tiny_request(tmp_path, demand)).attacked()
    whole = {one.method for one in fact.policies if one.whole_cells}
    assert {one.method for one in fact.policies} == {method.value for method in Method}
    assert whole >= {"common", "k-anonymity"}
    assert whole.isdisjoint({"basic", "no-attack", "basic-partition", "no-attack-partition"})
    for one in fact.policies:
        if one.whole_cells:
            assert one.narrowed_share == 0
            assert one.informed == pytest.approx(one.uninformed)


def test_a_policy_that_leaves_a_record_no_strategy_is_left_out(tmp_path: Path) -> None:
    """Stakes under which every group is worth an attempt."""
    stakes = {"benefit": 90, "loss": 60, "cost": 0.5}

    def greedy(document: dict[str, Any]) -> None:
        document["recipients"][0] |= {"stakes": stakes, "method": "safe-harbor"}

    fact = made(tiny_request(tmp_path, greedy)).attacked()
    methods = {one.method for one in fact.policies}
    assert "safe-harbor" in methods
    assert not methods & {"no-attack", "no-attack-partition"}


def test_weights_are_learned_from_some_and_tried_on_others(release: Release) -> None:
    """The halves of a small file teach each other's distance, so that everybody is attacked."""
    fact = release(SWAP, GROUPS, changes=[changed("policy", "linkage", to={"learned": True})]).attacked(methods=())
    assert [(one.kind, one.alone) for one in fact.learned] == [
        ("weighted mean", False),
        ("weighted mean", True),
        ("Choquet", True),
        ("bilinear", True),
        ("Mahalanobis", True),
    ]
    learned = fact.learned[0]
    assert learned.people == 30
    assert learned.in_sample.share >= learned.equal.share
    assert sum(learned.shares.values()) == pytest.approx(1)
    assert learned.shares.keys() == {"zip", "age", "sex", "dose", "income", "visits"}
    attack = fact.attack("all-learned")
    assert (attack.sampled, attack.figure.people, attack.knows) == (False, 60, "uninformed")
    for one, name in zip(fact.learned[1:], ("learned", "choquet", "bilinear", "mahalanobis"), strict=True):
        attack = fact.attack(f"numbers-{name}")
        assert attack.trained == one.in_sample
        assert attack.figure == one.out_of_sample
        assert one.shares.keys() == {"dose", "income", "visits"}
        assert judged_share(attack) == min(max(attack.figure.share, one.in_sample.share), attack.most)
        assert judged_certain(attack) == 0
        assert gate_figures(fact)[Measure.LINKED_MASKED] >= judged_share(attack)
    few = release(SWAP, records=36).attacked(methods=())
    assert few.learned == ()
    assert "all-learned" not in ids(few)


def test_the_higher_of_trained_and_held_out_is_judged() -> None:
    """By the upper ends of their intervals, as both are samples."""
    held_out = attack_fact("numbers-bilinear", "uninformed", 100, 1000, sampled=True)
    trained = link_figure(Linkage(30, 200, 1 / 1000))
    fact = linkage_fact(held_out.model_copy(update={"trained": trained}), masked="numbers-bilinear")
    assert trained.high > held_out.figure.high
    assert gate_figures(fact)[Measure.LINKED_MASKED] == trained.high
    around, people = gate_intervals(fact)[Measure.LINKED_MASKED]
    assert (around.low, around.high, people) == (held_out.figure.low, trained.high, 1000)


def test_a_distance_that_cannot_be_learned_counts_as_the_most_it_could_link(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ParameterError("it cannot be learned", where="here", expected="more", got="less", fix="none")

    one = release(masking("rank-swapping", "income", "visits", p=80), changes=[changed("policy", "linkage", to={})])
    before = gate_figures(one.attacked(methods=()))
    monkeypatch.setattr("tasks.assessments.linkage.learned.learn", fails)
    fact = one.attacked(methods=())
    untried = {attack.id: attack.most for attack in fact.untried}
    names = ("learned", "choquet", "bilinear", "mahalanobis")
    assert untried.keys() == {"all-learned", "all-choquet", *(f"numbers-{name}" for name in names)}
    assert fact.learned == ()
    assert before[Measure.LINKED_MASKED] < gate_figures(fact)[Measure.LINKED_MASKED] == untried["numbers-bilinear"]


def test_attacks_by_distance_are_never_certain() -> None:
    """The upper end of an interval around no certain match is no certain match where none was possible."""
    learned = AttackFact(
        id="all-learned",
        title="t",
        knows="uninformed",
        attributes=("a",),
        sampled=True,
        figure=link_figure(Linkage(3.0, 30, 1 / 60)),
    )
    assert judged_certain(learned) == 0
    assert judged_certain(learned.model_copy(update={"id": "all-candidates"})) == pytest.approx(0.1135, abs=1e-4)
