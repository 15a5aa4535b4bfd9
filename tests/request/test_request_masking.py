"""Masking, record linkage and utility in a request: what is accepted, and every refusal with place and remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import PARAMETER_OF, Masking, MaskingName, Measure, ReleaseRequest

Refused = Callable[[str], RequestError]
CANARY = "Zq7canary"
STRENGTH = {"p": 10, "buckets": 20, "k": 3, "noise": 0.1}


@pytest.fixture
def asking(good: str) -> Callable[..., str]:
    """The good request with two more columns, maskings, and terms of linkage and utility."""

    def ask(*maskings: str, linkage: str = "", utility: str = "") -> str:
        text = good.replace("population:", "  bill: {role: sensitive, type: integer}\npopulation:", 1)
        if maskings:
            text = text.replace("population:", "masking:\n" + "".join(f"  - {one}\n" for one in maskings), 1)
            text = text.replace("  path: population.csv", "population:\n  path: population.csv", 1)
        if linkage:
            text += f"  linkage: {linkage}\n"
        return text + (f"  utility: {utility}\n" if utility else "")

    return ask


@pytest.fixture
def accepted(tmp_path: Path) -> Callable[[str], ReleaseRequest]:
    def accept(text: str) -> ReleaseRequest:
        path = tmp_path / "request.yaml"
        path.write_text(text, encoding="utf-8")
        return load_request(path).request

    return accept


@pytest.mark.parametrize("method", list(MaskingName))
def test_each_method_takes_its_parameter(method: MaskingName, asking: Any, accepted: Any) -> None:
    parameter = PARAMETER_OF[method]
    request = accepted(asking(f"{{attributes: [bill, stay], method: {method}, {parameter}: {STRENGTH[parameter]}}}"))
    (masking,) = request.masking
    assert (masking.method, masking.strength) == (method, STRENGTH[parameter])
    assert request.masked == ("stay", "bill")


@pytest.mark.parametrize("reading", ["pair", "skip", "literal"])
def test_a_swap_is_read_in_three_ways(reading: str, asking: Any, accepted: Any) -> None:
    request = accepted(asking(f"{{attributes: [stay], method: rank-swapping, p: 5, reading: {reading}}}"))
    assert request.masking[0].reading == reading


@pytest.mark.parametrize("method", list(MaskingName))
@pytest.mark.parametrize("given", [(), ("p", "k"), ("p", "buckets", "k", "noise")])
def test_a_method_takes_no_other_parameter(
    method: MaskingName, given: tuple[str, ...], asking: Any, refused: Refused
) -> None:
    terms = "".join(f", {name}: {STRENGTH[name]}" for name in given)
    error = refused(asking(f"{{attributes: [stay], method: {method}{terms}}}"))
    assert [problem.path for problem in error.problems] == ["masking[0]"]
    assert error.expected == f"{method} takes the parameter {PARAMETER_OF[method]} and no other"
    assert error.got == {0: "none", 2: "p and k", 4: "p, buckets, k and noise"}[len(given)]
    assert error.fix == "give the method its own parameter and remove the others"
    wrong = "k" if PARAMETER_OF[method] != "k" else "p"
    error = refused(asking(f"{{attributes: [stay], method: {method}, {wrong}: {STRENGTH[wrong]}}}"))
    assert (error.problems[0].path, error.got) == ("masking[0]", wrong)


SWAP = "{attributes: [stay], method: rank-swapping, p: 5}"


@pytest.mark.parametrize(
    ("masking", "path", "told"),
    [
        (
            "{attributes: [stay], method: rank-swapping, p: 0}",
            "[0].p",
            ("greater than 0", "the number 0", "correct the number"),
        ),
        (
            "{attributes: [stay], method: rank-swapping-p-distribution, p: 100.5}",
            "[0].p",
            ("at most 100", "the number 100.5", "correct the number"),
        ),
        (
            "{attributes: [stay], method: rank-swapping, p: .nan}",
            "[0].p",
            ("a finite number", "nan", "write the number in digits"),
        ),
        (
            "{attributes: [stay], method: rank-swapping-p-buckets, buckets: 0}",
            "[0].buckets",
            ("at least 1", "the number 0", "correct the number"),
        ),
        ("{attributes: [stay], method: mdav, k: 1}", "[0].k", ("at least 2", "the number 1", "correct the number")),
        (
            "{attributes: [stay], method: individual-ranking, k: 2.5}",
            "[0].k",
            ("a whole number", "2.5", "without a decimal point"),
        ),
        (
            "{attributes: [stay], method: additive-noise, noise: 0}",
            "[0].noise",
            ("greater than 0", "the number 0", "correct the number"),
        ),
        (
            "{attributes: [stay], method: correlated-noise, noise: much}",
            "[0].noise",
            ("a number", "“much”", "in digits"),
        ),
        (
            "{attributes: [stay], method: swap, p: 5}",
            "[0].method",
            ("rank-swapping", "“swap”", "did you mean “rank-swapping”?"),
        ),
        (
            "{attributes: [stay], method: rank-swapping, p: 5, reading: pairs}",
            "[0].reading",
            ("pair, skip or literal", "“pairs”", "did you mean “pair”?"),
        ),
        (
            "{attributes: [stay], method: mdav, k: 3, reading: pair}",
            "[0].reading",
            ("of rank-swapping alone", "a reading for mdav", "remove it, or mask by rank-swapping"),
        ),
        ("{attributes: [], method: mdav, k: 3}", "[0].attributes", ("a list", "a list of 0 items", "fill in")),
        (
            "{attributes: [stay, stay], method: mdav, k: 3}",
            "[0].attributes",
            ("each is named once", "one of them twice", "remove the repetition"),
        ),
        (
            "{attributes: [stay, length], method: mdav, k: 3}",
            "[0].attributes[1]",
            ("names attributes of the request", "not among the attributes", "spell the column as under attributes"),
        ),
        (
            "{attributes: [diagnosis], method: mdav, k: 3}",
            "[0].attributes[0]",
            ("of type integer or number", "a column of type", "declare its type, or leave it out"),
        ),
        (
            "{attributes: [stay, age], method: mdav, k: 3}",
            "[0].attributes[1]",
            ("takes sensitive or insensitive", "with the role", "a quasi-identifier is generalized"),
        ),
        (
            "{attributes: [record_id], method: mdav, k: 3}",
            "[0].attributes[0]",
            ("of type integer or number", "a column of type", "leave it out"),
        ),
        ("{attributes: [stay], method: mdav, k: 3, seed: 7}", "[0].seed", ("attributes, method", "“seed”", "remove")),
    ],
)
def test_a_wrong_masking_is_named_with_place_expected_got_and_fix(
    masking: str, path: str, told: tuple[str, str, str], asking: Any, refused: Refused
) -> None:
    error = refused(asking(masking))
    assert [problem.path for problem in error.problems] == [f"masking{path}"]
    for part, said in zip(told, (error.expected, error.got, error.fix), strict=True):
        assert part in said
    assert f"request.yaml:{error.problems[0].line}:{error.problems[0].column}, masking{path}" in error.where
    assert error.exit_code == 2


def test_a_direct_identifier_that_is_a_number_is_not_masked(asking: Any, refused: Refused) -> None:
    text = asking("{attributes: [record_id], method: mdav, k: 3}")
    error = refused(text.replace("{role: direct identifier}", "{role: direct identifier, type: integer}"))
    assert [problem.path for problem in error.problems] == ["masking[0].attributes[0]"]
    assert error.expected == "masking takes sensitive or insensitive attributes"
    assert "a direct identifier is never released" in error.fix


def test_a_parameter_without_a_value_is_none(asking: Any, accepted: Any) -> None:
    assert accepted(asking("{attributes: [stay], method: mdav, k: 3, p: }")).masking[0].strength == 3


def test_an_attribute_is_masked_once(asking: Any, refused: Refused) -> None:
    error = refused(asking(SWAP, "{attributes: [bill, stay], method: additive-noise, noise: 0.1}"))
    assert [problem.path for problem in error.problems] == ["masking[1].attributes[1]"]
    assert (error.expected, error.got) == ("an attribute is masked by one method at most", "a column twice")
    assert error.fix == "name it in one place"


@pytest.mark.parametrize("name", ["record_id", "length"])
def test_the_intruder_knows_columns_that_leave(name: str, asking: Any, refused: Refused) -> None:
    error = refused(asking(SWAP, linkage=f"{{known: [age, {name}]}}"))
    assert [problem.path for problem in error.problems] == ["policy.linkage.known[1]"]
    assert error.expected == "policy.linkage.known names columns that are released"
    assert error.got == "a name that is not among the columns that are released"
    assert error.fix == "name quasi-identifiers, sensitive or insensitive attributes"


@pytest.mark.parametrize(
    ("terms", "path", "expected"),
    [
        ("{known: []}", "policy.linkage.known", "a list"),
        ("{individuals: 99}", "policy.linkage.individuals", "at least 100"),
        ("{learned: maybe}", "policy.linkage.learned", "true or false"),
    ],
)
def test_terms_of_the_intruder(terms: str, path: str, expected: str, asking: Any, refused: Refused) -> None:
    error = refused(asking(SWAP, linkage=terms))
    assert [problem.path for problem in error.problems] == [path]
    assert expected in error.expected


@pytest.mark.parametrize("name", ["record_id", "length"])
def test_classes_are_predicted_of_a_column_that_leaves(name: str, asking: Any, refused: Refused) -> None:
    error = refused(asking(utility=f"{{target: {name}}}"))
    assert [problem.path for problem in error.problems] == ["policy.utility.target"]
    assert error.expected == "policy.utility.target names a column that is released"
    assert "name a quasi-identifier" in error.fix


def test_terms_of_linkage_and_utility_are_taken(asking: Any, accepted: Any) -> None:
    request = accepted(
        asking(SWAP, linkage="{known: [stay, age], individuals: 500, learned: false}", utility="{target: diagnosis}")
    )
    assert request.policy.linkage.known == ("stay", "age")
    assert (request.policy.linkage.individuals, request.policy.linkage.learned) == (500, False)
    assert request.policy.utility.target == "diagnosis"


@pytest.mark.parametrize("measure", [one for one in Measure if one.value.startswith(("linkage.", "utility."))])
def test_gates_on_what_an_attack_links_are_shares(measure: Measure, good: str, accepted: Any, refused: Refused) -> None:
    def gated(threshold: str) -> str:
        return f"{good}    - {{measure: {measure}, {threshold}, because: a test}}\n"

    assert accepted(gated("at_most: 0.2")).policy.gates[1].threshold == 0.2
    assert "must lie between 0 and 1" in refused(gated("at_most: 1.1")).expected
    assert "takes at_most" in refused(gated("at_least: 0.2")).expected


def test_a_value_of_the_data_is_never_repeated(asking: Any, refused: Refused) -> None:
    """A name that is no column may be a cell pasted by mistake."""
    for text in (
        asking(f"{{attributes: [stay, {CANARY}], method: mdav, k: 3}}"),
        asking(SWAP, linkage=f"{{known: [{CANARY}]}}"),
        asking(utility=f"{{target: {CANARY}}}"),
    ):
        error = refused(text)
        assert CANARY not in str(error) + repr(error.problems)


def test_a_masking_by_itself() -> None:
    with pytest.raises(ValueError, match="takes the parameter k and no other"):
        Masking(attributes=("stay",), method=MaskingName.MDAV, k=3, p=2)


@pytest.mark.parametrize("method", ["mdav", "individual-ranking"])
def test_microaggregation_beside_decoys_is_refused(method: str, asking: Any, refused: Refused, accepted: Any) -> None:
    """Groups of k + 1 name the decoys of a file that publishes k; other masking leaves no such groups."""
    text = asking(f"{{attributes: [stay], method: {method}, k: 15}}")
    with_decoys = text.replace("    stakes:", "    decoys: {classes: 2}\n    stakes:", 1)
    assert with_decoys != text
    error = refused(with_decoys)
    assert [problem.path for problem in error.problems] == ["masking[0].method"]
    assert "a group of k + 1 holds one" in error.expected
    assert "rank swapping or noise" in error.fix
    assert accepted(with_decoys.replace(f"method: {method}, k: 15", "method: additive-noise, noise: 0.2")).masking
