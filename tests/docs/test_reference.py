"""The reference documents say what the program does: requests load, tables list what there is, figures come out."""

import re
from pathlib import Path

import pytest

from flows.cli.output import ExitCode
from tasks.request.load import load_request
from tasks.request.model import LARGER_IS_BETTER, Measure, Method, Policy, Role
from tasks.risk.outcome import policy_outcome
from tests.support import adult

DOCS = Path(__file__).parents[2] / "docs"


def rows(document: str, heading: str) -> list[list[str]]:
    """Cells of the table whose header row starts with a cell."""
    text = (DOCS / document).read_text(encoding="utf-8")
    match = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert match, f"{document} has no table headed {heading}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in match.group(1).splitlines()]


def test_the_smallest_request_loads(tmp_path: Path) -> None:
    match = re.search(
        r"^```yaml\n(.*?)^```", (DOCS / "request.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert match
    path = tmp_path / "request.yaml"
    path.write_text(match.group(1), encoding="utf-8")
    request = load_request(path).request
    assert request.quasi_identifiers == ("age", "sex")
    assert request.policy.gates == Policy(id="x", version="1").gates


def test_every_measure_is_listed_with_its_side() -> None:
    listed = {cells[0].strip("`"): cells[1].strip("`") for cells in rows("request.md", "measure")}
    assert listed == {measure.value: "at_least" if measure in LARGER_IS_BETTER else "at_most" for measure in Measure}


def test_every_role_is_listed() -> None:
    assert [cells[0].strip("`") for cells in rows("request.md", "role")] == [role.value for role in Role]


def test_policy_defaults_are_as_listed() -> None:
    policy = Policy(id="x", version="1")
    for key, default, _ in rows("request.md", "key")[4:]:
        value: object = policy
        for part in key.strip("`").split("."):
            value = getattr(value, part)
        if key != "`gates`":
            assert str(getattr(value, "value", value)) == default.strip("`"), key


def test_every_method_is_listed() -> None:
    named = {name for cells in rows("methods.md", "method") for name in re.findall(r"`([\w-]+)`", cells[0])}
    assert named == {method.value for method in Method}


def test_exit_codes_are_listed() -> None:
    assert [int(cells[0]) for cells in rows("operations.md", "exit code")] == sorted(ExitCode)


@pytest.mark.parametrize(
    ("column", "method"),
    enumerate((Method.SAFE_HARBOR, Method.BASIC, Method.SH_FRIENDLY, Method.NO_ATTACK), start=1),
)
def test_the_figures_of_table_7_come_out(column: int, method: Method) -> None:
    outcome = policy_outcome(adult.table(), adult.played(method), adult.PAYOFFS)
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
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
