"""``releasegate check``: validate request and data, release nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flows.cli.options import RequestArgument, RootsOption
from flows.cli.output import ExitCode, JsonOption, answer, notices
from flows.cli.randomness import generator_of_its_own
from tasks.assessments.identity.setting import check_risk_setting
from tasks.assessments.linkage.holdings import known_attributes
from tasks.core.errors import ParameterError
from tasks.core.guard import guarded
from tasks.decision.record import ValidationFact
from tasks.generalization.setting import check_setting
from tasks.masking.fact import MaskingFact
from tasks.masking.masked_columns import NOTHING_MASKED, mask_columns
from tasks.microdata.coded import Prepared
from tasks.microdata.columns import absent_values
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import PARAMETER_OF, ReleaseRequest
from tasks.request.public_key import fingerprint, kind_of
from tasks.request.unused import unused_terms
from tasks.validation.run import validate


@dataclass(frozen=True)
class CheckedRequest:
    """Findings of a check."""

    loaded: LoadedRequest
    prepared: Prepared
    validation: ValidationFact
    positions: dict[str, tuple[int, ...]]
    """Records that failed, by check, from 0."""
    masking: tuple[MaskingFact, ...]
    """How numbers would be masked; empty where validation found what would block."""
    notes: tuple[str, ...]
    """Terms that have no effect, or not the effect that their author would expect."""


def check(request: RequestArgument, root: RootsOption = None, *, as_json: JsonOption = False) -> int:
    """Validate a request and its data; release nothing and write nothing.

    Exit code 0 if the data may go on to the gate, 2 if they cannot be used, 3 if validation finds what would block.
    """
    checked = checked_request(request, root or [])
    asked, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    document = {
        "records": prepared.data.total,
        "distinct_tuples": len(prepared.data),
        "population": prepared.population.total,
        "validation": validation.model_dump(mode="json"),
        "positions": {name: [row + 1 for row in rows] for name, rows in checked.positions.items()},
        "masking": [one.model_dump(mode="json") for one in checked.masking],
        "deliveries": [
            {
                "recipient": one.id,
                "format": asked.format_for(one).value,
                "encrypted_to": [{"kind": kind_of(key), "fingerprint": fingerprint(key)} for key in one.encrypt_to],
            }
            for one in asked.recipients
        ],
        "known": list(known_attributes(asked)),
        "notes": list(checked.notes),
    }
    code = ExitCode.APPROVED if validation.passed else ExitCode.BLOCKED
    answer(document, _lines(checked), as_json=as_json, code=code)
    if not as_json:
        for note in checked.notes:
            notices.print(f"note: {note}")
    return code


def checked_request(path: Path, roots: list[Path]) -> CheckedRequest:
    """Load a request, prepare its data, run validation and mask numbers for trial.

    Raises
    ------
    BadInput
        If request or data cannot be used.
    """
    with guarded("check"):
        loaded = load_request(path, roots)
        frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
        prepared = prepare(loaded, frame)
        check_setting(loaded.request, prepared)
        check_risk_setting(loaded.request, prepared)
        outcome = validate(frame, loaded.request, prepared.covered, confirmed=False)
        masked = NOTHING_MASKED
        if outcome.fact.passed:  # else no release would get as far as masking
            masked = mask_columns(loaded.request, frame, generator_of_its_own)
        notes = (
            *unused_terms(loaded.request),
            *absent_values(frame, loaded.request),
            *_decoy_notes(loaded.request, frame),
        )
        return CheckedRequest(loaded, prepared, outcome.fact, outcome.positions, masked.facts, notes)


def _decoy_notes(request: ReleaseRequest, frame: pd.DataFrame) -> Iterator[str]:
    """Notes on why recipients might not get the decoys asked for, as far as they show without generalizing."""
    if not any(recipient.decoys for recipient in request.recipients):
        return
    from tasks.decoys.outbound import outbound_columns, refuse_own_values  # noqa: PLC0415  imports scikit-learn

    try:
        refuse_own_values(outbound_columns(frame, request, NOTHING_MASKED))
    except ParameterError as error:
        yield f"recipients who are to have decoys will be blocked: {error.in_one_line()}"


def _lines(checked: CheckedRequest) -> Iterator[RenderableType]:
    request, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    fields = Table(box=None, padding=(0, 2), show_edge=False)
    for heading in ("column", "role", "type", "distinct", "hierarchy"):
        fields.add_column(heading, justify="right" if heading == "distinct" else "left")
    for name, attribute in request.attributes.items():
        tree = prepared.hierarchies.get(name)
        groups = " → ".join(str(len(level)) for level in tree.labels) if tree else ""
        groups += ", levels cross" if tree and not tree.is_tree else ""
        fields.add_row(name, attribute.role.value, attribute.type.value, f"{prepared.distinct_values[name]:,}", groups)
    yield fields
    yield (
        f"\n{prepared.data.total:,} records in {len(prepared.data):,} distinct quasi-identifier tuples; "
        f"population of {prepared.population.total:,} people"
    )
    for masking in request.masking:
        parameter = f"{PARAMETER_OF[masking.method]} = {masking.strength:g}"
        yield f"masked: {', '.join(masking.attributes)} by {masking.method.value}, {parameter}"
    for recipient in request.recipients:
        if recipient.decoys:
            yield f"decoys: {recipient.decoys.classes:,} classes for {recipient.id}"
    for recipient in request.recipients:
        if recipient.encrypt_to:
            keys = ", ".join(f"{kind_of(key)} {fingerprint(key)}" for key in recipient.encrypt_to)
            yield f"encrypted: {request.format_for(recipient).value} for {recipient.id} to {keys}"
    yield f"assumed known to an attacker: {', '.join(known_attributes(request))}\n"
    failed = [one for one in validation.checks if not one.passed]
    for one in failed:
        rows = ", ".join(str(row + 1) for row in checked.positions.get(one.id, ())[:5])
        where = f", rows {rows}" if rows else ""
        line = f" {one.column or 'table'}: {one.expectation}: {one.failed:,} of {one.checked:,}{where}"
        yield Text.assemble(("✗", "red"), line)
    passed = len(validation.checks) - len(failed)
    mark = ("✗", "red") if failed else ("✓", "green")
    yield Text.assemble(mark, f" {passed} of {len(validation.checks)} checks passed")
