"""Artifacts of runs on Prefect's pages, for operators: verdicts, gates passed or failed, progress, links. No figure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

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
    """Show verdict, gates and bundle of a release."""
    _tried(lambda: create_markdown_artifact(_verdict(outcome), key=name, description="verdict"))
    _tried(lambda: create_table_artifact(_gates(outcome), key=f"{name}-gates", description="gates"))
    link = outcome.bundle.as_uri()
    _tried(lambda: create_link_artifact(link, link_text="bundle", key=f"{name}-bundle", description="bundle"))


def show_audit(name: str, audited: Audited) -> None:
    """Link an audit, and show whether the ledger is intact."""
    state = "is intact" if audited.report.chain.intact else "**has been altered**"
    _tried(lambda: create_markdown_artifact(f"The ledger {state}.", key=name, description="audit"))
    link = audited.folder.as_uri()
    _tried(lambda: create_link_artifact(link, link_text="audit", key=f"{name}-folder", description="audit"))


def _verdict(outcome: Outcome) -> str:
    lines = ["| recipient | state | valid until |", "|---|---|---|"]
    for record in outcome.records:
        who = record.recipient.id
        state = "lapsed" if who in outcome.lapsed else outcome.standings[who].state.value
        lines.append(f"| {who} | {state} | {record.valid_until} |")
    return f"Release `{outcome.release_id}`\n\n" + "\n".join(lines)


def _gates(outcome: Outcome) -> list[dict[str, str]]:
    """Gates as passed or failed; their figures are in the records, for those who may read them."""
    return [
        {
            "recipient": record.recipient.id,
            "gate": gate.title,
            "passed": "overridden" if gate.overridden else "yes" if gate.passed else "no",
        }
        for record in outcome.records
        for gate in record.gates
    ]


def _tried(show: Callable[[], Any]) -> Any:
    try:
        return show()
    except Exception as error:  # pages for operators never affect a release
        log_problem("an artifact could not be shown", error)
        return None
