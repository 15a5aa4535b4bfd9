"""The reference documents say what the program does: requests load, tables list what there is, figures come out."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from flows.cli.output import ExitCode
from tasks.assessments.combined.known_sets import MAXIMUM_KNOWN_SETS
from tasks.assessments.identity.outcome import policy_outcome
from tasks.candidate.groups import released_tuples
from tasks.generalization.game.demands import Demands
from tasks.generalization.generalize import generalize
from tasks.generalization.kanonymity.metrics import Metric
from tasks.request.load import load_request
from tasks.request.model import LARGER_IS_BETTER, Measure, Method, Policy, Role
from tests.support import adult

DOCS = Path(__file__).parents[2] / "docs"
YAML_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNSET = {"none": None, "true": True, "false": False}


def rows(document: str, heading: str, section: str = "") -> list[list[str]]:
    """Cells of the first table of a section whose header row starts with some cells."""
    text = (DOCS / document).read_text(encoding="utf-8")
    text = text[text.index(f"\n{section}\n") if section else 0 :]
    match = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert match, f"{document} has no table headed {heading}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in match.group(1).splitlines()]


def column(document: str, heading: str, section: str = "", *, number: int = 1) -> dict[str, str]:
    """A column of a table by its first, without marks."""
    return {cells[0].strip("`"): cells[number].strip("`") for cells in rows(document, heading, section)}


def requests() -> list[str]:
    """The tutorial's request and the parts that others may have."""
    pages = ("request.md", "recipients.md", "policy.md")
    parts = [block for page in pages for block in YAML_BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))]
    return [YAML_BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))[0], *parts]


def with_part(document: dict[str, Any], added: dict[str, Any]) -> None:
    """Add the keys of a part to a request: to its attributes, its policy and its recipients, or as they are."""
    for key, value in added.items():
        if key in {"attributes", "policy"}:
            document[key].update(value)
        elif key == "recipients":
            terms = {one["id"]: one for one in document[key]}
            for one in value:
                terms[one["id"]].update(one)
        else:
            document[key] = value


def test_the_tutorials_request_loads(tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(requests()[0], encoding="utf-8")
    request = load_request(path).request
    assert request.quasi_identifiers == ("visit_date", "age", "postcode", "sex")
    assert request.policy.gates == Policy(id="x", version="1").gates


@pytest.mark.parametrize("part", range(1, len(requests())))
def test_the_tutorials_request_loads_with_every_part_that_is_shown(tmp_path: Path, part: int) -> None:
    yaml = YAML()
    document, added = (yaml.load(block) for block in (requests()[0], requests()[part]))
    with_part(document, added)
    whole = io.StringIO()
    yaml.dump(document, whole)
    path = tmp_path / "request.yaml"
    path.write_text(whole.getvalue(), encoding="utf-8")
    assert load_request(path).request.recipients


def test_every_measure_is_listed_with_its_side_and_its_default_threshold() -> None:
    listed = {name.strip("`"): gate.replace("`", "").split() for name, gate, _ in rows("terms.md", "measure")}
    thresholds = {name: float(gate[1]) for name, gate in listed.items() if len(gate) > 1}
    assert listed.keys() == {one.value for one in Measure}
    assert thresholds == {gate.measure.value: gate.threshold for gate in Policy(id="x", version="1").gates}
    assert {name for name, gate in listed.items() if gate[0] == "at_least"} == LARGER_IS_BETTER


def test_every_family_of_measures_is_named() -> None:
    named = {
        name.partition(".")[0]
        for cells in rows("policy.md", "[measures](terms.md#measures)")
        for name in re.findall(r"`([\w.*]+)`", cells[0])
    }
    assert named == {one.value.partition(".")[0] for one in Measure}


def test_every_role_is_listed() -> None:
    assert list(column("request.md", "role")) == [role.value for role in Role]


@pytest.mark.parametrize(
    ("label", "method", "local"),
    [
        ("`k-anonymity`", Method.K_ANONYMITY, False),
        ("… and local recoding", Method.K_ANONYMITY, True),
        ("after `basic`", Method.BASIC, False),
    ],
)
def test_the_figures_of_k_anonymity_come_out(label: str, method: Method, local: bool) -> None:
    table = adult.table()
    of_record = np.repeat(np.arange(len(table.data)), table.data.counts).astype(np.int32)
    table = table.demanding(Demands(5, 0.02, Metric.LOSS, of_record, local_recoding=local))
    generalization = generalize(table, method, adult.PAYOFFS, adult.weights())
    outcome, records = generalization.k_anonymity, table.data.counts
    assert outcome is not None
    kept = released_tuples(table, generalization, 1)
    paid = policy_outcome(table, generalization, adult.PAYOFFS)
    least = f"{generalization.people[kept].min():,}, {generalization.effective[kept].min():,}"
    gap = records[kept & (generalization.effective < generalization.people)].sum()
    printed = next(
        cells for cells in rows("methods/k-anonymity.md", "| levels (age, race, sex, zip)") if cells[0] == label
    )
    assert printed[1:] == [
        ", ".join(map(str, outcome.levels.values())),
        f"{outcome.value:.4f}",
        f"{outcome.suppressed_records:,}",
        least,
        f"{gap:,}",
        f"{paid.publisher_payoff:.2f}",
    ]
    assert (paid.transparent_attacked_share == 0) is not local


def test_the_most_known_sets_are_told() -> None:
    assert f"{MAXIMUM_KNOWN_SETS:,}" in (DOCS / "terms.md").read_text(encoding="utf-8")


def test_every_method_is_listed() -> None:
    named = {name for cells in rows("methods/game.md", "method") for name in re.findall(r"`([\w-]+)`", cells[0])}
    assert named == {method.value for method in Method}


def test_exit_codes_are_listed() -> None:
    assert [int(cells[0]) for cells in rows("operations.md", "exit code")] == [*sorted(ExitCode), 130]


@pytest.mark.parametrize(
    ("column", "method"),
    enumerate((Method.SAFE_HARBOR, Method.BASIC, Method.SH_FRIENDLY, Method.NO_ATTACK), start=1),
)
def test_the_figures_of_table_7_come_out(column: int, method: Method) -> None:
    outcome = policy_outcome(adult.table(), adult.generalization(method), adult.PAYOFFS)
    text = (DOCS / "methods" / "game.md").read_text(encoding="utf-8")
    labels = ("publisher", "recipient", "released as collected, %", "mean generalization (eq. 5)", "attacked, %")
    lines = {line.split("|")[1].strip(): line.split("|") for line in text.splitlines() if "→" in line and "|" in line}
    ours = {label: lines[label][column + 1].split("→")[1] for label in labels}
    expected = (
        (ours["publisher"], outcome.publisher_payoff),
        (ours["recipient"], outcome.adversary_payoff),
        (ours["released as collected, %"], 100 * outcome.most_specific_share),
        (ours["mean generalization (eq. 5)"], outcome.mean_generalization),
        (ours["attacked, %"], 100 * outcome.naive_attacked_share),
    )
    for printed, figure in expected:
        decimals = len(printed.strip().partition(".")[2])
        assert f"{figure:.{decimals}f}" == printed.strip()
