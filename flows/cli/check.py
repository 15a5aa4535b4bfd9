"""``releasegate check``: validate request and data, release nothing."""

import os
import shlex
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from flows.cli.levels import levels_document, shown_levels
from flows.cli.options import DEFAULT_WORKSPACE, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import ExitCode, answer, as_json, console, table
from flows.cli.randomness import generator_of_its_own
from flows.policies import PolicyShelf
from flows.workspace import Workspace, nearest_workspace
from reports.document import Block, text
from reports.numbers import percent
from tasks.assessments.columns.assessment import column_places
from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.identity.setting import check_risk_setting
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.text.facts import TextFact
from tasks.core.errors import ParameterError, WorkspaceError
from tasks.core.guard import guarded
from tasks.decision.record import ValidationFact
from tasks.generalization.setting import check_setting
from tasks.masking.facts import MaskingFact
from tasks.masking.masked_columns import NOTHING_MASKED, mask_columns
from tasks.microdata.coded import Prepared, absent_values
from tasks.microdata.fit import misfits
from tasks.microdata.level_sizes import prepared_levels
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.microdata.repeated_people import repeated_people
from tasks.microdata.tables import own_rows
from tasks.redaction.recall import redacted
from tasks.request.defaults import Unsaid, unsaid
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import (
    DIVISIONS,
    PARAMETER_OF,
    Attribute,
    Measure,
    MissingReading,
    PopulationBasis,
    ReleaseRequest,
    Role,
)
from tasks.request.public_key import fingerprint, kind_of
from tasks.request.unused import unused_terms
from tasks.validation.run import validate

_WIDTH, _INDENT = 80, "    "


@dataclass(frozen=True)
class CheckedRequest:
    """Findings of a check."""

    loaded: LoadedRequest
    prepared: Prepared
    validation: ValidationFact
    positions: dict[str, tuple[int, ...]]
    """Records that failed, by check, from 0."""
    masking: tuple[MaskingFact, ...]
    """Masking of numbers as it would be; empty where validation found an error that blocks."""
    columns: ColumnsFact
    """Information that released columns reveal; empty where validation found an error that blocks."""
    notes: tuple[str, ...]
    """Terms that have no effect, or not the effect that their author would expect."""
    without_account: tuple[str, ...] = ()
    """Reviewers who cannot sign in to the workspace's page, where it has accounts."""

    @property
    def passed(self) -> bool:
        """Whether the data may go on to the gate."""
        return self.validation.passed and not _closed(self)

    def shown(self) -> Iterator[Block]:
        """Columns, records, and what would block the release."""
        return _shown(self)


def check(
    request: RequestArgument,
    root: RootsOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Also show group sizes by level, and every default that the request does not state."
        ),
    ] = False,
) -> int:
    """Validate a request and its data; release nothing and write nothing.

    Exit code 0 if the data may go on to the gate, 2 if they cannot be used, 3 if validation finds what would block, or
    a gate would close on what released columns reveal.
    """
    checked = checked_request(request, root or [], workspace)
    loaded, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    document = {
        "records": prepared.data.total,
        "rows": len(prepared.tuple_of_row),
        "distinct_tuples": len(prepared.data),
        "population": prepared.people,
        "counted_in": loaded.population.basis.value,
        "validation": validation.model_dump(mode="json"),
        "positions": {name: [row + 1 for row in rows] for name, rows in checked.positions.items()},
        "masking": [one.model_dump(mode="json") for one in checked.masking],
        "deliveries": [
            {
                "recipient": one.id,
                "format": loaded.format_for(one).value,
                "encrypted_to": [{"kind": kind_of(key), "fingerprint": fingerprint(key)} for key in one.encrypt_to],
            }
            for one in loaded.recipients
        ],
        "columns": [
            one.model_dump(mode="json") | {"finding": [each.sentence for each in one.findings], "remedy": one.remedy}
            for one in checked.columns.columns
            if one.findings
        ],
        "unplaced": [one.name for one in checked.columns.unplaced],
        "unreviewed": list(_unreviewed(loaded)),
        "known": list(known_attributes(loaded, prepared)),
        "notes": list(checked.notes),
        "without_account": list(checked.without_account),
    }
    defaults = unsaid(loaded) if explain else []
    levels: list[Block] = []
    if explain:
        sizes, few = prepared_levels(prepared, loaded.attributes), loaded.policy.small_cell
        document["defaults"] = [asdict(one) for one in defaults]
        document["levels"] = levels_document(sizes, few)
        levels = shown_levels(sizes, few, of_people=bool(loaded.population.path or loaded.dataset.person))
    code = ExitCode.APPROVED if checked.passed else ExitCode.BLOCKED
    shown = chain(checked.shown(), levels, explained_defaults(defaults))
    answer(document, shown, code=code, notes=checked.notes)
    if checked.passed and not as_json.get():
        console.print(f"\nNext: run `{_release(request, root or [], workspace)}`.", soft_wrap=True)
    return code


def _release(request: Path, roots: Sequence[Path], workspace: Path) -> str:
    """The command that releases what was checked."""
    found = nearest_workspace(Path.cwd()) or DEFAULT_WORKSPACE
    named = [] if workspace == found else ["--workspace", str(workspace)]
    # One in a database is begun too, where --enrol changes nothing.
    begun = os.path.isfile(Workspace(workspace.resolve()).ledger)
    first = [] if begun else ["--enrol"]
    given = [part for one in roots for part in ("--root", str(one))]
    return shlex.join(["releasegate", "release", str(request), *given, *named, *first])


def checked_request(path: Path, roots: list[Path], workspace: Path) -> CheckedRequest:
    """Load a request and its data, and check them."""
    with guarded("check"):
        loaded = load_request(path, roots, PolicyShelf(workspace))
        return checked_frame(loaded, read_data(loaded), workspace)


def checked_frame(loaded: LoadedRequest, frame: pd.DataFrame, workspace: Path | None = None) -> CheckedRequest:
    """Prepare the data of a request, as text, run validation and mask numbers for trial.

    Reviewers without an account are looked for in the workspace, where one is given.
    """
    with guarded("check"):
        prepared = prepare(loaded, frame)
        check_setting(loaded.request, prepared)
        check_risk_setting(loaded.request, prepared)
        outcome = validate(frame, loaded.request, prepared.covered, confirmed=False)
        masked, columns = NOTHING_MASKED, ColumnsFact(columns=())
        if outcome.fact.passed:  # else no release would get as far as masking
            masked = mask_columns(loaded.request, frame, generator_of_its_own)
            columns = column_places(loaded.request, prepared, masked)
        without = () if workspace is None else _without_account(workspace, loaded.request.policy.review.reviewers)
        notes = (
            *_account_notes(without),
            *_people_notes(frame, loaded.request),
            *_unreviewed_notes(loaded.request),
            *_text_notes(frame, loaded.request),
            *unused_terms(loaded.request),
            *absent_values(frame, loaded.request),
            *_numeral_notes(prepared),
            *_missing_notes(frame, loaded.request),
            *_population_notes(loaded.request, prepared),
            *_misfit_notes(prepared, loaded.request.population.lacks),
            *_class_notes(loaded.request, prepared),
            *_decoy_notes(loaded.request, frame),
            *_crowd_notes(loaded.request, prepared),
        )
        return CheckedRequest(loaded, prepared, outcome.fact, outcome.positions, masked.facts, columns, notes, without)


def _without_account(root: Path, reviewers: Sequence[str]) -> tuple[str, ...]:
    """Reviewers without an account of the workspace's page; none where the page has no accounts, or hides them."""
    workspace = Workspace(root.resolve())
    if not reviewers or not (workspace.private / "accounts.json").is_file():
        return ()
    from flows.accounts import Accounts, without_account  # noqa: PLC0415  imports the ledger
    from flows.ledger import has_ledger, open_ledger  # noqa: PLC0415  imports the ledger
    from tasks.ledger.enrolment import Directory  # noqa: PLC0415  imports the ledger

    try:
        accounts = Accounts(workspace).all()
    except WorkspaceError:  # of the service's user alone
        return ()
    if not has_ledger(workspace):
        return tuple(reviewers)
    with open_ledger(workspace) as ledger:
        return without_account(accounts, Directory.of(ledger), reviewers)


def _account_notes(without: Sequence[str]) -> Iterator[str]:
    if without:
        yield (
            f"reviewers without an account of the page: {', '.join(without)}; until they have one (releasegate account "
            "add), they vote with releasegate review"
        )


def _closed(checked: CheckedRequest) -> bool:
    """Whether a gate of the policy would close on what released columns reveal."""
    gates, unplaced = checked.loaded.request.policy.gates, len(checked.columns.unplaced)
    return any(one.measure is Measure.COLUMNS_UNPLACED and unplaced > one.threshold for one in gates)


def _unreviewed(request: ReleaseRequest) -> tuple[str, ...]:
    return tuple(name for name, one in request.attributes.items() if one.role is Role.UNREVIEWED)


def _unreviewed_notes(request: ReleaseRequest) -> Iterator[str]:
    if unreviewed := _unreviewed(request):
        yield f"withheld, because nobody has reviewed them: {', '.join(unreviewed)}; give each a role to release it"


def _text_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    """Gates on text that would close; raises DataError where a text is not in the language stated."""
    if not request.texts:
        return
    fact = redacted(frame, request).fact
    if isinstance(fact, TextFact):
        figures = {Measure.TEXT_MISSED: fact.missed, Measure.TEXT_RESIDUAL: fact.residual}
        for gate in request.policy.gates:
            if figures.get(gate.measure, 0.0) > gate.threshold:
                yield (
                    f"the gate on {gate.measure.value} would close on the text of {', '.join(request.texts)}: "
                    f"{figures[gate.measure]:.3g} measured, at most {gate.threshold:g} allowed"
                )


def _people_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    for one in repeated_people(frame, request):
        yield (
            f"can a person have several rows? {one.column} has {one.values:,} values in {one.records:,} records, and "
            "those that share one share their quasi-identifiers: if so, name it under dataset.person, or groups of "
            "rows are taken for groups of people"
        )


def _numeral_notes(prepared: Prepared) -> Iterator[str]:
    if prepared.numerals:
        yield (
            f"columns of text that hold numbers are attacked as numbers: {', '.join(prepared.numerals)}; state their "
            "type, or known_probability: 0 if nobody can know them"
        )


_READINGS = {
    (Role.QUASI, MissingReading.OWN_GROUP): "others may know whose records lack a value, so that these hide among each "
    "other, and among all records only where the attribute is generalized to the top",
    (Role.QUASI, MissingReading.ANY_VALUE): "such a record may be of anybody with its other values, as long as nobody "
    "outside knows whose records lack one",
    (Role.SENSITIVE, MissingReading.OWN_GROUP): "a missing value is one more value of a class",
    (Role.SENSITIVE, MissingReading.ANY_VALUE): "a missing value adds no diversity to a class, and what the class "
    "discloses is disclosed of its person too",
}


def _missing_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    """Shares of the records or rows in which columns are missing, and the meaning of their reading, by role."""
    policy = request.policy.missing
    counted = "records" if request.dataset.person is None else "rows"
    for role, term, reading in (
        (Role.QUASI, "quasi_identifiers", policy.quasi_identifiers),
        (Role.SENSITIVE, "sensitive", policy.sensitive),
    ):
        columns = [name for name, one in request.attributes.items() if one.role is role]
        shares = {name: float(frame[name].iloc[own_rows(frame, request, name)].isna().mean()) for name in columns}
        if missing := ", ".join(f"{name} {share:.2%}" for name, share in shares.items() if share):
            meaning = _READINGS[role, reading]
            yield f"missing in the {counted}: {missing}; {meaning} (policy.missing.{term}: {reading.value})"


def _misfit_notes(prepared: Prepared, lacks: Collection[str]) -> Iterator[str]:
    for column, share in misfits(prepared.data, prepared.population, prepared.hierarchies).items():
        if column in lacks:
            continue
        yield (
            f"{column} has another distribution than in the population: at least {share:.0%} of the records would need "
            "another value"
        )


def _population_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    """Consequences of a population without a table of all quasi-identifiers."""
    population, records = request.population, prepared.data.total
    if population.basis is PopulationBasis.FILE:
        yield (
            f"the file is its own population of {records:,} people, and others know who is in it: the people of a "
            "class are its records. If the file is a sample of more people, state population.size in place of self"
        )
    elif population.basis is PopulationBasis.SAMPLE:
        people = population.people(records) or records
        yield (
            f"the file is taken to be a random sample of {percent(records / people)} of {people:,} people. Gates judge "
            "the records of a class as its people, which are no more than in the population; only "
            "estimated.maximum_risk, estimated.mean_risk, estimated.unique_share and singling_out.population_share "
            "rest on the size and on the sample being random"
        )
    elif population.lacks:
        yield (
            f"the population table lacks {', '.join(population.lacks)}: released classes that reveal one of these are "
            "counted in the file; the others, in the table"
        )


def _class_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    """Note on a gate on the prosecutor risk that nothing in the policy keeps open, with the term that does."""
    terms = request.policy.generalization
    least = request.policy.fewest_passing(Measure.PROSECUTOR_MAXIMUM)
    if least <= request.fewest_records:
        return
    term = f"k_anonymity: {{k: {least}, local_recoding: true}}"
    if not all(tree.is_tree for tree in prepared.hierarchies.values()):
        term = f"minimum_class_size: {least}"
    elif terms.k_anonymity is not None:
        term = f"k_anonymity.k: {least}"
    elif request.methods <= DIVISIONS and terms.collusion is None:
        term = f"budget: {{least_records: {least}, suppression: 0.02}}"
    yield (
        f"the gate on {Measure.PROSECUTOR_MAXIMUM.value} blocks classes of fewer than {least:,} records, and no term "
        f"of policy.generalization keeps them out: add “{term}” there, or set “presence: unknown” and remove that gate "
        "if nobody can know who is in the file"
    )


def _decoy_notes(request: ReleaseRequest, frame: pd.DataFrame) -> Iterator[str]:
    """Notes on why recipients might not get the required decoys, as far as they show without generalizing."""
    if not any(recipient.decoys for recipient in request.recipients):
        return
    from tasks.decoys.records import outbound_columns, refuse_own_values  # noqa: PLC0415  imports scikit-learn
    from tasks.decoys.stage import refuse_repeated_identifiers  # noqa: PLC0415

    try:
        refuse_own_values(outbound_columns(frame, request, NOTHING_MASKED))
        refuse_repeated_identifiers(frame, request)
    except ParameterError as error:
        yield f"recipients who are to have decoys will be blocked: {error.in_one_line()}"


def _crowd_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    if not any(recipient.decoys for recipient in request.recipients):
        return
    from tasks.decoys.scarcity import crowded_copies  # noqa: PLC0415  imports scikit-learn

    for one in crowded_copies(request, prepared):
        yield (
            f"the least class of a copy ({', '.join(one.recipients)}) links to about {one.people:,} people; of cells "
            f"with as many one in {round(1 / max(one.empty, 1e-9)):,} holds no record, as a decoy's must: decoys in "
            "such copies, and in finer ones beside them, are likely to be too few, or detected. “assess decoys” "
            "measures it; allow smaller classes, or release to these recipients apart"
        )


def _shown(checked: CheckedRequest) -> Iterator[Block]:
    request, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    columns = (
        (name, _role(one), one.type.value, f"{prepared.distinct_values[name]:,}", _levels(prepared, name, one))
        for name, one in request.attributes.items()
    )
    yield from table("", ("column", "role", "type", ">distinct", "hierarchy"), columns)
    persons, n_rows = request.dataset.person, len(prepared.tuple_of_row)
    counted = "records" if persons is None else f"people, named by {persons}, with {n_rows:,} rows"
    if request.tables:
        counted += f" in {len(request.tables) + 1} tables"
    yield (
        f"\n{prepared.data.total:,} {counted} in {len(prepared.data):,} distinct quasi-identifier tuples; "
        f"{_hidden_among(request, prepared)}"
    )
    for masking in request.masking:
        parameter = f"{PARAMETER_OF[masking.method]} = {masking.strength:g}"
        yield f"masked: {', '.join(masking.attributes)} by {masking.method.value}, {parameter}"
    yield from (f"decoys: {one.decoys.classes:,} classes for {one.id}" for one in request.recipients if one.decoys)
    for one in request.recipients:
        if one.encrypt_to:
            keys = ", ".join(f"{kind_of(key)} {fingerprint(key)}" for key in one.encrypt_to)
            yield f"encrypted: {request.format_for(one).value} for {one.id} to {keys}"
    yield f"assumed known to an attacker: {', '.join(known_attributes(request, prepared))}\n"
    failed = [one for one in validation.checks if not one.passed]
    cross = '<span class="failed">✗</span> {}: {}: {:,} of {:,}{}'
    for found in failed:
        rows = ", ".join(str(row + 1) for row in checked.positions.get(found.id, ())[:5])
        where = f", rows {rows}" if rows else ""
        yield text(cross, found.column or "table", found.expectation, found.failed, found.checked, where)
    number, (mark, style) = len(validation.checks), ("✗", "failed") if failed else ("✓", "passed")
    passed = f'<span class="{style}">{mark}</span> {{}} of {{}} checks passed; a release measures the risk'
    yield text(passed, number - len(failed), number)
    for column in checked.columns.unplaced:
        yield text('<span class="failed">✗</span> {}', column.advice)


def _hidden_among(request: ReleaseRequest, prepared: Prepared) -> str:
    """The people among whom records hide, beside the population that the file is a sample of."""
    population, counted = request.population, f"{prepared.people:,} people"
    if population.basis is not PopulationBasis.SAMPLE:
        return f"population of {counted}"
    known = ", since others can know who is in it" if request.policy.presence == "known" else ""
    return f"records hide among the file's {counted}{known}; it is a sample of {population.people(prepared.people):,}"


def _role(attribute: Attribute) -> str:
    return attribute.role.value + (" of rows" if attribute.of == "row" else "")


def _levels(prepared: Prepared, name: str, attribute: Attribute) -> str:
    """Sizes of the levels of an attribute's hierarchy that may leave."""
    tree = prepared.hierarchies.get(name)
    if tree is None:
        return ""
    sizes = " → ".join(str(len(level)) for level in tree.labels)
    from_level = f"from level {attribute.level}: " if attribute.level else ""
    return from_level + sizes + ("" if tree.is_tree else ", levels cross")


def explained_defaults(defaults: Iterable[Unsaid]) -> Iterator[Block]:
    """Each term with its value and, below, its meaning, in lines of 80 characters; a key is never broken."""
    for number, one in enumerate(defaults):
        if number == 0:
            yield "\nThe request does not state these terms; each has its default:\n"
        head = f"{one.term}: {one.value}"
        stated = [head] if len(head) <= _WIDTH else [f"{one.term}:", *_indented(one.value)]
        of = _indented(f"of {', '.join(one.of)}") if one.of else []
        yield "\n".join([*stated, *_indented(one.meaning), *of])


def _indented(words: str) -> list[str]:
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
