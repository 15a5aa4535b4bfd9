"""Remedies for the closed gates of a blocked release, as far as its record reveals them.

Nothing is tried here, so that the first page and the terminal have it at once; ``explain`` tries changes.
"""

from collections.abc import Iterator, Sequence

from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.events.facts import EventsFact
from tasks.assessments.identity.facts import FieldFact
from tasks.decision.earlier_facts import EarlierFact
from tasks.decision.gates import AGREEMENT_IN_FORCE, EARLIER_COPIES, STAGES_FINISHED, VALIDATION_PASSED
from tasks.decision.record import SAME_PERSON, DecisionRecord, GateResult
from tasks.request.column_names import usually_known
from tasks.request.model import NUMERIC, Measure, Role, ValueType

_CORRECT = "Correct the data, or withhold the columns that failed a check."
_NAME_PEOPLE = "State in dataset.person which column names the person of each row, adding one to the file if none does."
_SAY_ONE_ROW = (
    " Where each row is of another person, write under {}: “excused: {{by: NAME, because: each person has one row}}”."
)
_CONDITIONS = {
    AGREEMENT_IN_FORCE: "Name an agreement that is in force.",
}
_FINISH = "Remove what kept a stage from finishing, and release again."
ALL_GATES = " to open all closed gates"
_MOST_COPIES = 3
_FEW_VALUES = 20


def _measures(*prefixes: str) -> frozenset[str]:
    """By their names: the assessments themselves take a second to import, which a command's process has no use for."""
    return frozenset(one for one in Measure if one.value.startswith(tuple(f"{prefix}." for prefix in prefixes)))


_COMBINED = _measures("combined")
_BY_COLUMNS = _COMBINED | _measures("linkage", "singling_out")
_IN_GROUPS = _measures("transparent", "prosecutor", "journalist", "estimated") | {Measure.SMALLEST_CLASS}
_REPEATED = _measures("sequential")
_BY_CLASSES = _measures("attribute")
_OF_COLUMNS = _BY_COLUMNS | _BY_CLASSES | {Measure.COLUMNS_UNPLACED}
_LARGER = "Larger groups to hide in: a higher policy.generalization.minimum_class_size, or another method."
_KEEP = (
    "More information is kept by another method (no-attack-remainder, where it is not the method yet), or where rare "
    "values are grouped in the hierarchies."
)
_DETER = "A higher penalty or a higher rate of detection in the agreement deters repeated attempts."


def remedies(record: DecisionRecord) -> tuple[str, ...]:
    """A sentence for each kind of closed gate, columns first; only of conditions where no risk was measured."""
    closed = [gate for gate in record.gates if not gate.passed and not gate.overridden]
    ids = {gate.id for gate in closed}
    conditions = [sentence for gate, sentence in _CONDITIONS.items() if gate in ids]
    if STAGES_FINISHED in ids:
        conditions += [fix[0].upper() + fix[1:] + "." for _, _, fix in unfinished(record) if fix] or [_FINISH]
    if VALIDATION_PASSED in ids:
        conditions[:0] = _of_validation(record)
    measured = [gate for gate in closed if gate.measured is not None]
    return (*conditions, *_of_copies(record, closed), *_remedies(record, measured))


def unfinished(record: DecisionRecord) -> list[tuple[str, str, str]]:
    """Stages that did not finish: the name, the reason, and what is to do, which is empty where nothing is recorded."""
    if all(gate.passed for gate in record.gates if gate.id == STAGES_FINISHED):
        return []
    parts = ((one.stage, one.reason.partition("; to do: ")) for one in record.not_assessed)
    return [(stage, reason, fix) for stage, (reason, _, fix) in parts]


def _of_validation(record: DecisionRecord) -> list[str]:
    failed = [one.id for one in record.validation.checks if not one.passed]
    repeated = [one for one in failed if one.startswith(f"{SAME_PERSON}/")]
    said = [
        _NAME_PEOPLE + _SAY_ONE_ROW.format(one.column) * bool(one.column)
        for one in record.validation.checks
        if one.id in repeated
    ]
    return [_CORRECT] * (repeated != failed or not failed) + said[-1:]


def revoking(release_id: str, recipient: str, workspace: str | None = None) -> str:
    """The command that revokes a copy, with names left to fill in.

    `workspace` is the option that names the workspace; what a record says has none, and words in its place.
    """
    option = " (with the --workspace of this release)" if workspace is None else workspace
    return f"releasegate revoke {release_id[:12]} --recipient {recipient} --as NAME --reason REASON{option}"


def _of_copies(record: DecisionRecord, closed: Sequence[GateResult]) -> Iterator[str]:
    """A sentence for each of the last earlier copies, where a gate is closed because of them."""
    beside = record.earlier or EarlierFact()
    together = [one for one in closed if one.id in beside.figures and _passes_alone(one)]
    if beside.judged and (together or beside.closed):
        alone = together == [one for one in closed if one.measured is not None]
        yield f"{'This copy alone would pass: its groups' if alone else 'Groups'} " + (
            "differ from those of earlier copies "
            "held by the same party, which tells people apart. A revision has the same groups if quasi-identifiers, "
            "their hierarchies and weights, population and recipient's terms are those of the earlier request. You may "
            "leave out other columns, but leaving out what the same party already has protects nobody."
            if beside.regrouped
            else "are those of earlier copies held by the same party, or wider, but too few people of some group were "
            "added, withdrawn or changed since: comparing the copies shows their values. Release them once "
            "there are enough of them in each group, or leave them as they were."
        )
    if together or any(one.id == EARLIER_COPIES for one in closed):
        for copy in [one for one in beside.copies if one.shares_people is not False][-_MOST_COPIES:]:
            yield (
                f"Where the copy of release {copy.release_id[:12]} to {copy.recipient} was never delivered, or is "
                "destroyed, its requester or an officer may revoke it, and this request, released again, is decided "
                f"anew: {revoking(copy.release_id, copy.recipient)}"
            )
        own = record.recipient.id
        counted = dict.fromkeys(
            [*(one.recipient for one in beside.copies if one.shares_people is not False), *beside.siblings]
        )
        if also := [one for one in counted if one != own]:
            yield (
                f"{', '.join(also)} and {own} are taken for one party: names of organisations that may be one's or its "
                "parts', one agreement, or recipients whom the policy names together. If they are others, give the "
                "name of each organisation in full, without abbreviations, and the id of its own agreement."
            )
        if beside.unexplained:
            reviewed = "" if record.reviews_required else ", under a policy that has reviewers (policy.review.required)"
            release_id = [one.release_id for one in beside.copies if one.shares_people][-1]
            yield (
                f"Or state in the request why few people differ between the copies{reviewed}, for reviewers to accept: "
                f"“changes_since: {{release: {release_id}, because: REASON}}”."
            )


def _remedies(record: DecisionRecord, closed: Sequence[GateResult]) -> Iterator[str]:
    ids = frozenset(gate.id for gate in closed)
    yield from _of_columns(record, closed, ids)
    remaining = {gate.id for gate in closed if not (gate.columns and _passes_alone(gate))}
    if remaining & _IN_GROUPS:
        yield _LARGER
    if Measure.INFORMATION_KEPT in ids:
        yield _KEEP
    if remaining & _REPEATED:
        yield _DETER


def _passes_alone(gate: GateResult) -> bool:
    """Whether the figure by the quasi-identifiers alone would pass."""
    if gate.alone is None:
        return False
    return gate.alone <= gate.threshold if gate.comparison == "at most" else gate.alone >= gate.threshold


def _of_columns(record: DecisionRecord, closed: Sequence[GateResult], ids: frozenset[str]) -> Iterator[str]:
    """A sentence on the columns that close gates: one change that takes all of them back, then what may do instead.

    They reveal quasi-identifiers, an attacker is assumed to know them, or records of a class share their values.
    """
    behind = dict.fromkeys(name for gate in closed for name in gate.columns)
    events = _events(record)
    rows, known_rows = (events.attributes, events.known and events.known.attributes) if events else ((), ())
    of_rows = [name for name in behind if name in (known_rows or ())]
    revealing = [name for name in behind if name not in of_rows]
    beside = [one for one in record.fields if one.released and one.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    known = [one for one in beside if one.known_probability != 0 and one.name not in rows] if ids & _BY_COLUMNS else []
    causes = {
        "generalized values are revealed": revealing,
        "others are assumed to know rows of a person": of_rows,
        "others are assumed to know the values": [one.name for one in known],
        "a class shares values": _shared(record) if ids & _BY_CLASSES else [],
    }
    names = [*dict.fromkeys(name for found in causes.values() for name in found)]
    if not names:
        if ids & _BY_CLASSES:
            yield "Classes share sensitive values: withhold these, or give them in wider groups."
        return
    every = all(gate.id in _OF_COLUMNS or (gate.columns and _passes_alone(gate)) for gate in closed)
    if Measure.COLUMNS_UNPLACED in ids:  # the reasons name the columns and their remedies
        every &= _unplaced(record) <= set(names)
    told = [cause + f" ({', '.join(found)})" * (found != names) for cause, found in causes.items() if found]
    yield (
        f"Withhold {', '.join(names)} (role: withheld){ALL_GATES if every else ''}. "
        f"Cause{'s' * (len(told) > 1)}: {'; '.join(told)}."
    )
    grouped = [*dict.fromkeys([*revealing, *(one.name for one in known)])]
    unstated = [
        one.name
        for one in known
        if one.known_probability is None and one.name not in revealing and not usually_known(one.name)
    ] + of_rows
    ways = []
    if grouped:
        ways.append(_in_groups(record, grouped, names))
    if unstated:
        ways.append(f"state “known_probability: 0” for what nobody outside can know of {_these(unstated, names)}")
    if not ids & _COMBINED:
        ways += _masked(known)
    if ways:
        yield f"Or, in place of withholding: {'; '.join(ways)}."
    if Measure.ATTRIBUTE_DISCLOSED in ids and (alone := _disclosing_alone(record)):
        quasi = [one.name for one in record.fields if one.name in alone and one.role == Role.QUASI]
        others = [name for name in alone if name not in quasi]
        ways = [f"write wider groups of {_these(quasi, alone)} into the hierarchy"] if quasi else []
        if others:
            ways.append(f"state “known_probability: 0” for what nobody outside can know of {_these(others, alone)}")
        shared, them = ", ".join(alone), "it" if len(alone) == 1 else "them"
        yield f"Records alike in {shared} share values: withhold {them} instead, or {'; or '.join(ways)}."
    if Measure.ATTRIBUTE_DISCLOSED in ids and (secrets := causes["a class shares values"]):
        depend = "depend" if len(secrets) > 1 else "depends"
        yield (
            f"Where the study asks how {', '.join(secrets)} {depend} on columns that others know, groups disclose it "
            "by the nature of the study: only the policy's owner can allow that (its gate attribute.disclosed_share)."
        )


def _in_groups(record: DecisionRecord, names: Sequence[str], every: Sequence[str]) -> str:
    """Advice to generalize columns, with the terms of the first as a request takes them."""
    first, several = names[0], len(names) > 1
    held = next((one for one in record.fields if one.name == first), None)
    whole = held is not None and held.type == ValueType.INTEGER and held.distinct_values > _FEW_VALUES
    levels = "intervals: {minimum: 0, maximum: 99, widths: [10]}" if whole else 'groups: {levels: [{"*": [a, b]}]}'
    like = "of numbers from 0 to 99" if whole else "of two values"
    return (
        f"make {_these(names, every)} {'quasi-identifiers, each' if several else 'a quasi-identifier'} with a "
        f"hierarchy, such as “{first}: {{role: quasi-identifier, hierarchy: {{{levels}}}}}” {like} (releasegate init "
        f"drafts that of the data, answered “{first}=q”)"
    )


def _masked(known: Sequence[FieldFact]) -> Iterator[str]:
    """Maskings of numbers that somebody can know; they do not keep sensitive values from being disclosed."""
    masked = [one.name for one in known if one.treatment.startswith("masked")]
    if numbers := [one.name for one in known if one.type in NUMERIC and one.name not in masked]:
        written = f"masking: [{{attributes: [{', '.join(numbers)}], method: mdav, k: 200}}]"
        yield f"mask numbers that somebody can know, in large groups (“{written}”)"
    if masked:
        yield f"take a larger k for {', '.join(masked)}, which is not enough as masked"


def _unplaced(record: DecisionRecord) -> set[str]:
    """Revealing columns that nobody has excused."""
    return {one.name for one in ColumnsFact.model_validate(record.further.get("columns", {"columns": ()})).unplaced}


def _shared(record: DecisionRecord) -> list[str]:
    """Sensitive columns whose values the records of a class share, or the rows of its people."""
    columns, events = record.further.get("attribute", {}).get("columns", ()), _events(record)
    by_rows = [one.column for one in events.columns if one.disclosed_people] if events else []
    return [*(one["column"] for one in columns if one["disclosed_records"]), *by_rows]


def _events(record: DecisionRecord) -> EventsFact | None:
    """Rows of people; None where each row is a record, or the stage did not finish."""
    return EventsFact.model_validate(record.further["events"]) if "events" in record.further else None


def _disclosing_alone(record: DecisionRecord) -> list[str]:
    """Known columns that disclose sensitive values alone, where classes are too small to show it."""
    columns = record.further.get("attribute", {}).get("columns", ())
    return [*dict.fromkeys(name for one in columns for name in one.get("by", ()))]


def _these(names: Sequence[str], every: Sequence[str]) -> str:
    """The names, or “them” where they are all of several that were named."""
    return "them" if 1 < len(names) == len(every) else ", ".join(names)
