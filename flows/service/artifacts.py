"""Artifacts of runs on Prefect's pages, for operators: verdicts, gates passed or failed, links. No figure."""

from prefect.artifacts import create_markdown_artifact

from flows.audit import Audited
from flows.gate import Outcome
from flows.service.logs import log_problem


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
    try:
        create_markdown_artifact(text, key=name, description=description)
    except Exception as error:  # pages for operators never affect a release
        log_problem("an artifact could not be shown", error)
