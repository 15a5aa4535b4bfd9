"""Artifacts of runs on Prefect's pages, for operators: verdicts, gates passed or failed, progress, links. No figure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_progress_artifact, update_progress_artifact

from flows.audit import Audited
from flows.gate import Outcome
from flows.service.logs import log_problem

_STEPS_AT_FIRST = 5
_STEPS_EACH = 8
_MOST = 99.0


@contextmanager
def progress(name: str) -> Iterator[Callable[[str], None]]:
    """Show a run's progress by the steps that it reports; an error of showing stops nothing."""
    made = _tried(lambda: create_progress_artifact(0.0, key=f"{name}-progress", description="starting"))
    steps = 0

    def step(name: str) -> None:
        nonlocal steps
        steps += 1
        done = min(100.0 * steps / (_STEPS_AT_FIRST + _STEPS_EACH), _MOST)
        if made is not None:
            _tried(lambda: update_progress_artifact(made, done, description=name))

    yield step
    if made is not None:
        _tried(lambda: update_progress_artifact(made, 100.0, description="done"))


def show_outcome(name: str, outcome: Outcome) -> None:
    """Show a release: its bundle, verdicts, and gates as passed or failed; figures are for those who may read them."""
    lines = [f"Release [`{outcome.release_id}`]({outcome.bundle.as_uri()})", ""]
    lines += ["| recipient | state | valid until |", "|---|---|---|"]
    for record in outcome.records:
        who = record.recipient.id
        state = "lapsed" if who in outcome.lapsed else outcome.standings[who].state.value
        lines.append(f"| {who} | {state} | {record.valid_until} |")
    lines += ["", "| recipient | gate | passed |", "|---|---|---|"]
    for record in outcome.records:
        for gate in record.gates:
            passed = "overridden" if gate.overridden else "yes" if gate.passed else "no"
            lines.append(f"| {record.recipient.id} | {gate.title} | {passed} |")
    _show(name, "\n".join(lines), "verdict")


def show_audit(name: str, audited: Audited) -> None:
    """Link an audit, and show whether the ledger is intact."""
    state = "is intact" if audited.report.chain.intact else "**has been altered**"
    _show(name, f"The ledger {state}: [audit]({audited.folder.as_uri()}).", "audit")


def _show(name: str, text: str, description: str) -> None:
    _tried(lambda: create_markdown_artifact(text, key=name, description=description))


def _tried(show: Callable[[], Any]) -> Any:
    try:
        return show()
    except Exception as error:  # pages for operators never affect a release
        log_problem("an artifact could not be shown", error)
        return None
