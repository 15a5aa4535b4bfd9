"""Writing one recipient's file, reading it back and scoring it again: it must carry the risk that was judged.

A file that is read back is coded anew, its values weighed and compared as they stand there.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tasks.assessments.combined.assessment import ScoreTable, score_figure, scored_names, scores
from tasks.assessments.combined.expected import expected_names, expected_of_rows
from tasks.assessments.combined.facts import CombinedFact, ScoreFigure
from tasks.assessments.combined.known_sets import Floats
from tasks.assessments.dates.assessment import found_by, found_fact, histories_of
from tasks.assessments.dates.facts import FoundFact
from tasks.assessments.events.assessment import EventValues, known_rows, read_events
from tasks.assessments.events.facts import as_written
from tasks.assessments.identity.outcome import risk_view, transparent_risk
from tasks.assessments.sequential.assessment import beliefs
from tasks.assessments.singling_out.assessment import KnownTable, sampling_fraction
from tasks.candidate.assessment import save_figure
from tasks.candidate.candidate import Candidate
from tasks.candidate.groups import groups, probability_present
from tasks.candidate.value_counts import ValueCounts, judged_columns, known_alone, released_groups
from tasks.core.errors import StageFailed
from tasks.core.files import Artifact, Written, WrittenTable, artifact, written
from tasks.core.memory import return_memory
from tasks.dates.offsets import Days
from tasks.dates.released_dates import MISSING, written_days
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.gates import flat_figures
from tasks.decoys.copy_statistics import statistics_of_copy
from tasks.delivery.encryption import SUFFIX, encrypt
from tasks.delivery.kept import Kept, decoys_and_order, kept_key, packed
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import seal_members
from tasks.delivery.pseudonym_columns import keep_crosswalk, pseudonyms_of_copy
from tasks.delivery.released_file import (
    alike_within_persons,
    as_read,
    by_appearance,
    coded_columns,
    decoys_as_sealed,
    delivered_table,
    first_of_persons,
    read_cells,
    read_numbers,
    released_rows,
    write_released,
)
from tasks.delivery.tables import delivered_columns, table_files
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import class_sizes
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import (
    CodedColumn,
    Prepared,
    certain_columns,
    coded_rows,
    group_sensitivities,
    is_in_series,
    knowable_columns,
    known_probabilities,
    sensitivities,
    value_weights,
    weighed_column,
)
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, places_among
from tasks.pseudonyms.pseudonyms import PseudonymScope
from tasks.request.load import LoadedRequest
from tasks.request.model import ReleaseRequest, SensitivityWeights, ValueType
from tasks.request.public_key import fingerprint, kind_of


class Assessed(NamedTuple):
    """Figures of a candidate that a file has too if it tells its records apart, and weighs them, as the candidate."""

    combined: CombinedFact
    singled_out: int
    """Records that a few columns as released single out."""


def write_release(
    candidate: Candidate,
    loaded: LoadedRequest,
    decoys: DecoyFact | None,
    *,
    release_id: str,
    key_file: Path,
    folder: Path,
    assessed: Assessed | None = None,
) -> Written:
    """Write a candidate into the private folder of the run, and score the file from its bytes.

    A file that is to be encrypted is made and read back in memory; only its ciphertext comes to the disk, and a copy
    that is sealed with the workspace's own key, from which it can be assessed again. So is one of several tables, of
    which a file for each is made. Pseudonyms take the place of identifiers, and the crosswalk between them is sealed in
    the workspace's vault. The row order follows from release id and key, or from what is sealed of decoys; `decoys` are
    what the record says of them. StageFailed says that the file cannot be written or read back.
    """
    request, recipient = candidate.request, candidate.recipient
    own, seed = decoys_and_order(key_file, release_id, recipient.id, decoys)
    form, keys = request.format_for(recipient), recipient.encrypt_to
    scope = PseudonymScope(key_file, release_id, recipient.id)
    pseudonyms = pseudonyms_of_copy(candidate, own, scope)
    crosswalk = keep_crosswalk(pseudonyms, own, scope)
    released = delivered_table(candidate, seed, form, own, pseudonyms)
    target = folder / f"released-{recipient.id}.{form.value}{SUFFIX if keys else ''}"
    clear: Source = target
    if keys or request.tables:
        memory = pa.BufferOutputStream()
        write_released(released, memory, form)
        clear = memory.getvalue()
    else:
        with written(target) as partial, partial.open("xb") as stream:
            write_released(released, stream, form)
    written_rows = released.num_rows
    del released, pseudonyms  # of large copies they take more memory than the file
    return_memory()
    rows = released_rows(candidate.leaves, seed, len(own))
    figures = None
    if decoys_as_sealed(clear, own, rows >= 0, request):
        figures = figures_of_file(clear, candidate, rows, assessed)
    records = first_of_persons(rows, candidate.prepared.events)
    tables = list(_written_tables(clear, candidate, rows, folder)) if isinstance(clear, pa.Buffer) else []
    ciphertext = ""
    if isinstance(clear, pa.Buffer) and not tables:
        with written(target) as partial:
            ciphertext = encrypt(clear, partial, keys)
    statistics = folder / f"statistics-{recipient.id}.json"
    with written(statistics) as partial:
        save_figure(statistics_of_copy(candidate.frame, request, candidate.masked, records[records >= 0], own), partial)
    file = Artifact(path=str(target), sha256=ciphertext) if ciphertext else None
    file = tables[0]["file"] if tables else file or artifact(target)
    again = folder / f"kept-{recipient.id}.sealed"
    made = Kept.of(candidate, loaded.content, key_file, memoryview(clear) if isinstance(clear, pa.Buffer) else None)
    seal_members(packed(made), again, kept_key(key_file, release_id, recipient.id))
    return Written(
        file=file,
        clear_sha256=hashlib.sha256(clear).hexdigest() if isinstance(clear, pa.Buffer) else file["sha256"],
        form=form.value,
        keys=[{"kind": kind_of(key), "fingerprint": fingerprint(key)} for key in keys],
        rows=written_rows,
        records=None if candidate.prepared.events is None else int((records >= 0).sum()),
        figures=figures,
        statistics=artifact(statistics),
        kept=artifact(again),
        crosswalk=crosswalk,
        tables=tables,
    )


def _written_tables(
    clear: pa.Buffer, candidate: Candidate, rows: NDArray[np.intp], folder: Path
) -> Iterator[WrittenTable]:
    """Write the file of each table of a copy, in clear or encrypted; none where there is one table."""
    request, recipient, events = candidate.request, candidate.recipient, candidate.prepared.events
    if events is None or events.tables is None:
        return
    of_row, form, keys = events.tables.of_row[rows], request.format_for(recipient), recipient.encrypt_to
    for number, (table, content) in enumerate(table_files(clear, of_row, request)):
        target = folder / f"released-{recipient.id}-{number}.{form.value}{SUFFIX if keys else ''}"
        with written(target) as partial:
            sha256 = encrypt(content, partial, keys) if keys else _in_clear(content, partial)
        return_memory()
        yield WrittenTable(
            table=table,
            file=Artifact(path=str(target), sha256=sha256),
            clear_sha256=hashlib.sha256(content).hexdigest(),
            rows=int((of_row == number).sum()),
            columns=list(delivered_columns(request, table).values()),
        )


def _in_clear(content: pa.Buffer, target: Path) -> str:
    target.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def rows_as_attacked(path: Source, cells: Codes, expected: Codes, masked: MaskedColumns, rows: NDArray[np.intp]) -> int:
    """Real rows of a released file that are those that were attacked: same cell, same masked values, same place.

    `cells` are read back from the file, `expected` are those of the records that its real rows are; `rows` has the
    position in the microdata of each row, −1 for a decoy. StageFailed says that the file cannot be read.
    """
    if len(cells) != len(rows):
        return 0
    real = rows >= 0
    same: NDArray[np.bool_] = (cells[real] == expected).all(axis=1)
    if masked.names:
        found, made = read_numbers(path, masked.names)[real], masked.masked[rows[real]]
        same &= ((found == made) | (np.isnan(found) & np.isnan(made))).all(axis=1)
    return int(same.sum())


def score_again(
    path: Source, request: ReleaseRequest, prepared: Prepared, real: NDArray[np.bool_] | None = None
) -> ScoreFigure:
    """Combined score of the real rows of a released file, all where not given, by columns in the order that they had.

    StageFailed says that the file cannot be read.
    """
    names = scored_names(request, prepared)
    codes, (weights, _) = _coded_again(path, request, prepared, names, real)
    chances = known_probabilities(request)
    table = ScoreTable(tuple(names), codes, tuple(chances[name] for name in names), weights)
    return score_figure(scores(table, request.policy.combined), request.policy.combined)


def is_scored_alike(path: Source, candidate: Candidate, records: NDArray[np.intp]) -> bool:
    """Whether the real rows of a file are the released records, their values told apart and weighed as assessed.

    Combined score, the number of records that columns single out and, in the same cells, expected disclosure are then
    those of the candidate: they depend on nothing else. `records` has the record of each row, −1 for others.
    StageFailed says that the file cannot be read.
    """
    request, real, rows = candidate.request, records >= 0, candidate.rows
    if not np.array_equal(np.sort(records[real]), rows):
        return False
    prepared, place = candidate.as_masked, np.searchsorted(rows, records[real])
    known = (*scored_names(request, prepared), *expected_names(candidate), *knowable_columns(request))
    for name in dict.fromkeys(known):
        given = coded_rows(request, prepared, candidate.generalization.cells, rows, [name])
        weights = [value_weights(request, prepared, [name], given, lightest=least)[0] for least in (False, True)]
        found, ((most,), (least,)) = _coded_again(path, request, candidate.prepared, [name], real)
        pairs = pd.unique(given[place, 0].astype(np.int64) * len(most) + found[:, 0])
        first, second = np.divmod(pairs, len(most))
        apart = len(np.unique(first)) == len(np.unique(second)) == len(pairs)
        if not apart or any((one[first] != own[second]).any() for one, own in zip(weights, (most, least), strict=True)):
            return False
    return True


def _coded_again(
    path: Source, request: ReleaseRequest, prepared: Prepared, names: Sequence[str], real: NDArray[np.bool_] | None
) -> tuple[NDArray[np.integer], tuple[tuple[Floats, ...], ...]]:
    """Codes of the real rows by column, and the greatest and the least weight of each value of each column."""
    of_groups = [group_sensitivities(request, prepared.hierarchies, lightest=least) for least in (False, True)]
    heavy = columns_of_file(path, request, names, real, of_groups[0])
    light = {**heavy, **columns_of_file(path, request, list(of_groups[1]), real, of_groups[1])}
    weights = tuple(tuple(columns[name].weights for name in names) for columns in (heavy, light))
    return np.column_stack([heavy[name].codes for name in names]), weights


def expected_again(path: Source, candidate: Candidate, real: NDArray[np.bool_], presence: Floats) -> float:
    """Highest expected disclosure of a real row of a released file; ``presence`` as ``Candidate.presence`` by row.

    StageFailed says that the file cannot be read.
    """
    codes, weights = _coded_again(path, candidate.request, candidate.prepared, expected_names(candidate), real)
    return float(expected_of_rows(candidate, codes, weights, presence).max())


def known_table_again(
    path: Source, request: ReleaseRequest, real: NDArray[np.bool_], collected: int, people: int
) -> KnownTable:
    """The columns of a released file that may be known, of its real rows.

    ``collected`` are the records of the data, ``people`` those of the population. StageFailed says that the file cannot
    be read.
    """
    names, released = knowable_columns(request), int(real.sum())
    columns = [one.codes for one in columns_of_file(path, request, names, real).values()]
    codes = np.column_stack([np.empty((released, 0), dtype=np.int64), *columns])
    fraction = sampling_fraction(request, released, collected, people)
    return KnownTable(names, codes, request.policy.singling_out.columns, fraction)


def disclosed_again(
    path: Source, request: ReleaseRequest, cells: Codes, axis_sizes: Sequence[int], real: NDArray[np.bool_]
) -> ValueCounts:
    """The classes of a released file with their sensitive values; ``cells`` has the released groups of each real row.

    StageFailed says that the file cannot be read.
    """
    alone, judged = known_alone(request), judged_columns(request)
    columns = columns_of_file(path, request, (*alone, *judged), real)
    known: dict[str, NDArray[np.integer]] = {name: columns[name].codes for name in alone}
    certain, of_judged = [known[name] for name in certain_columns(request)], {name: columns[name] for name in judged}
    rows, missing = np.arange(len(cells)), request.policy.missing.sensitive
    known |= released_groups(request, cells)
    return ValueCounts.of(cell_numbers(cells, axis_sizes), certain, of_judged, rows, missing, alone=known)


def events_again(
    path: Source, candidate: Candidate, classes: Counts, rows: NDArray[np.intp], records: NDArray[np.intp]
) -> dict[str, int]:
    """Figures of the rows of a released file, as ``as_written`` gives them; none where each row is a record.

    `classes` are those of the persons, in the order of their first rows in the file; `rows` has the position in the
    microdata of each row, `records` as ``first_of_persons``. StageFailed says that the file cannot be read.
    """
    events = candidate.prepared.events
    if events is None:
        return {}
    persons, request = records[records >= 0], candidate.request
    place = np.empty(len(events.persons), dtype=np.int64)
    place[persons] = np.arange(len(persons))
    columns = columns_of_file(path, request, read_events(request), None)
    tables = None if events.tables is None else events.tables.only(rows)
    found = EventValues.of(classes, place[events.of_row[rows]], columns, tables, request)
    return as_written(int(found.disclosed.sum()), known_rows(request, found))


def dates_again(
    path: Source, candidate: Candidate, classes: Counts, rows: NDArray[np.intp], records: NDArray[np.intp]
) -> dict[str, FoundFact] | None:
    """People whom known dates find in a released file, by what is known; None without shifted or relative dates.

    Parameters and errors as of ``events_again``.
    """
    if not candidate.dates.columns:
        return None
    persons = records[records >= 0]
    place = np.full(len(candidate.prepared.tuple_of_record), -1, dtype=np.int64)
    place[persons] = np.arange(len(persons))
    released = {name: days_of_column(path, name, candidate.request) for name in candidate.dates.columns}
    histories = histories_of(candidate, released, rows, place[candidate.dates.person_of_row[rows]], len(persons))
    matches = found_by(histories, classes, candidate.request.policy.dates.known)
    return {name: found_fact(one) for name, one in matches.items()}


def days_of_column(path: Source, name: str, request: ReleaseRequest) -> Days:
    """Days in a column of shifted or relative dates of a released file, ``MISSING`` where there is none, by row.

    StageFailed says that the file cannot be read, or a cell is no such day.
    """
    codes, levels = coded_columns(path, [name])[name]
    try:
        days = written_days(levels.tolist(), relative=request.attributes[name].delivered_type is ValueType.INTEGER)
    except ValueError:
        raise StageFailed(
            "the released file is not what was written",
            where=f"column {name}",
            expected="shifted dates, or days since an index event",
            got="other cells",
            fix="do not release it; check the disk and run the release again",
        ) from None
    return np.append(days, MISSING)[codes]


def columns_of_file(
    path: Source,
    request: ReleaseRequest,
    names: Sequence[str],
    real: NDArray[np.bool_] | None,
    of_groups: Mapping[str, SensitivityWeights] = MappingProxyType({}),
) -> dict[str, CodedColumn]:
    """Columns of a released file by name, coded anew; of its real rows alone where these are given.

    ``of_groups`` has the weights of groups of quasi-identifiers.
    """
    if not names:
        return {}
    recovered, spelled = as_read(path)
    weights = {**sensitivities(request), **of_groups}
    columns = {}
    for name in names:
        codes, texts = coded_columns(path, [name])[name]
        codes, used = by_appearance(codes if real is None else codes[real])
        given = weights.get(name)
        if given is not None:
            given = given.model_copy(
                update={"values": {spelled(name, value): weight for value, weight in given.values.items()}}
            )
        levels = pd.Index([recovered(text) for text in texts[used]])
        kind, in_series = request.attributes[name].delivered_type, is_in_series(request, name)
        columns[name] = weighed_column(codes, levels, given, kind, in_series=in_series)
    return columns


def figures_of_file(
    path: Source, candidate: Candidate, rows: NDArray[np.intp], assessed: Assessed | None = None
) -> dict[str, float] | None:
    """Figures of the real rows of a released file, from its bytes; None where the method releases no such cell.

    `rows` has the position in the microdata of each row, −1 for a decoy. Of persons with several rows, which must be
    alike in what is of the person, one is taken. Any file but one that tells its records apart as the candidate
    does, which is `assessed`, is scored. StageFailed says that the file cannot be read.
    """
    if not alike_within_persons(path, rows, candidate):
        return None
    request, policy, index = candidate.request, candidate.request.policy, candidate.index
    file_rows, rows = rows, first_of_persons(rows, candidate.prepared.events)
    made, profile, real = candidate.generalization, candidate.adversary.profile, rows >= 0
    cells = read_cells(path, request.quasi_identifiers, index.axis_labels)
    numbers, of_row, records = np.unique(
        cell_numbers(cells[real], index.axis_sizes), return_inverse=True, return_counts=True
    )
    known, first = np.unique(cell_numbers(made.cells, index.axis_sizes), return_index=True)
    place, found = places_among(known, numbers)
    if len(numbers) == 0 or not found.all():
        return None
    counts, of_cell = records.astype(np.int64), first[place]
    people, effective = made.people[of_cell], made.effective[of_cell]
    listed = None if made.listed is None else made.listed[of_cell]
    sizes = class_sizes(numbers, counts)
    expected = made.cells[candidate.prepared.tuple_of_record[rows[real]]]
    alike = assessed is not None and np.array_equal(cells[real], expected) and is_scored_alike(path, candidate, rows)
    judged = assessed if alike else None
    classes = disclosed_again(path, request, cells[real], index.axis_sizes, real)
    return flat_figures(
        risk_view(sizes, people, counts, policy.risk_threshold, policy.small_cell),
        transparent_risk(people, effective, counts, candidate.payoffs),
        beliefs(profile, groups(index, effective, listed, counts, profile.prior)),
        score_again(path, request, candidate.prepared, real) if judged is None else judged.combined.residual,
        rows_as_attacked(path, cells, expected, candidate.masked, rows),
        singled_out=known_table_again(path, request, real, len(rows), index.population.total).singled_out
        if judged is None
        else judged.singled_out,
        disclosed=int(classes.disclosed.sum()),
        events=events_again(path, candidate, classes.classes, file_rows, rows),
        dates=dates_again(path, candidate, classes.classes, file_rows, rows),
        expected=expected_again(path, candidate, real, probability_present(request, sizes, effective)[of_row])
        if judged is None or judged.combined.expected is None
        else judged.combined.expected,
    )
