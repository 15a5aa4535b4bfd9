"""The last check of a copy's bytes, before the ledger records it: every cell follows from the private copies of inputs.

The stages before check what they hand on; this reads the bytes that leave, and the microdata, once more. It knows the
columns and rows that the record states, the cell that each record is generalized to, the masked values, redacted texts,
dates and pseudonyms, made anew, and the sealed decoys. What none of these explains does not leave. Pure of files and
ledger: it is given bytes.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tasks.delivery.columns import column_names, columns_of
from tasks.delivery.formula_marks import harmless
from tasks.delivery.listed_groups import ListedRows, is_whole, listed_rows
from tasks.delivery.parquet_file import is_parquet, rewritten, types_in
from tasks.delivery.pseudonym_columns import pseudonym_column
from tasks.delivery.released_file import (
    by_appearance,
    coded_columns,
    decoys_as_sealed,
    is_marked,
    read_cells,
    read_numbers,
    released_rows,
)
from tasks.delivery.tables import Keys, delivered_columns, keys_in, reference_faults, table_files
from tasks.generalization.methods.registry import METHODS
from tasks.microdata.coded_frame import coded_texts
from tasks.microdata.tables import RowTables
from tasks.microdata.withheld import Factorized
from tasks.pseudonyms.pseudonyms import Pseudonyms
from tasks.validation.labels import identifies

Flags = NDArray[np.bool_]
_NOWHERE = -2
"""Place of a text that the file does not have."""


@dataclass(frozen=True)
class LastCheck:
    """A clear file, and everything that it is to follow from.

    `copy` has the microdata read anew, with masked values, redacted texts and shifted or relative dates made anew from
    them.
    """

    content: pa.Buffer
    copy: Candidate
    record: DecisionRecord
    decoys: Sequence[Mapping[str, str | None]]
    order: bytes
    """Seed of the order of its rows."""
    pseudonyms: Mapping[str, Pseudonyms] = field(default_factory=dict, repr=False)
    """Of each column of pseudonyms, that of each identifier and decoy."""

    def make(self) -> dict[str, ListedRows]:
        """The groups of each quasi-identifier that may be listed with the file.

        Raises StageFailed, with the columns concerned, where the file is not what it should be.
        """
        faults = list(dict.fromkeys(self._faults()))
        if faults:
            raise StageFailed(
                "the file to be delivered is not what its record says was made from the inputs",
                where=f"release to {self.record.recipient.id}",
                expected="the recorded columns; the recorded generalization and masking of the records; no identifier",
                got="; ".join(faults),
                fix="nothing is released; find out what wrote to the workspace's private folder, and run again",
            )
        return self._listed

    def _faults(self) -> Iterator[str]:
        if hashlib.sha256(self.content).hexdigest() != self.record.dataset.output_sha256:
            yield "other bytes than were scored"
            return
        stated, tables = self.record.dataset, self._tables
        in_clear = (self.record.delivery is None or not self.record.delivery.encrypted_to) and tables is None
        if in_clear and self.record.delivered_sha256 != self.record.dataset.output_sha256:
            yield "other bytes than are delivered"
        names = list(self.copy.request.delivered)
        if not column_names(self.content) == columns_of(self.record) == names:
            yield "other columns than recorded"
            return
        known = (stated.rows or stated).rows_out if tables is None else len(self._rows)
        found = max((len(codes) for codes, _ in self._found.values()), default=0)
        if not found == len(self._rows) == known:
            yield f"{found} rows"
            return
        if tables is not None:
            yield from self._faults_of(tables)
        if not decoys_as_sealed(self.content, self.decoys, self._real, self.copy.request):
            yield "rows that are neither records nor the sealed decoys"
        strange = [name for name in names if not self._follows(name).all()]
        yield from (f"cells of {name}" for name in strange)
        released = (*self.copy.request.released, *self.copy.request.texts)
        for name in released if not set(strange) & set(self.copy.request.quasi_identifiers) else ():
            if self._identifying(name):
                yield f"what looks like an identifier in {name}"

    @property
    def _tables(self) -> RowTables | None:
        events = self.copy.prepared.events
        return None if events is None else events.tables

    def _faults_of(self, tables: RowTables) -> Iterator[str]:
        """Faults of the files of tables: one is not made of the file that was scored, or a key refers to nothing.

        The keys are read from the bytes that leave; where they are withheld, the rows that leave are compared.
        """
        request, rows = self.copy.request, self._rows
        stated = {one.table: one for one in self.record.delivery.tables} if self.record.delivery else {}
        if stated.keys() != {None, *request.tables}:
            yield "other tables than recorded"
            return
        keys: dict[str | None, Keys] = {}
        for number, (table, content) in enumerate(table_files(self.content, tables.of_row[rows], request)):
            one, columns = stated[table], list(delivered_columns(request, table).values())
            same = hashlib.sha256(content).hexdigest() == one.clear_sha256
            same &= one.rows == int((tables.of_row[rows] == number).sum())
            if not (same and list(one.columns) == columns == column_names(content)):
                yield f"other contents of {table or 'the dataset'} than were scored"
            if self.record.delivery and not self.record.delivery.encrypted_to and one.sha256 != one.clear_sha256:
                yield f"other bytes of {table or 'the dataset'} than are delivered"
            keys[table] = keys_in(content, table, request)
            del content  # before the next one is made
        yield from reference_faults(keys, request)
        leaving = np.append(self.copy.leaves, True)  # the last for rows within none
        if not leaving[tables.within[rows]].all():
            yield "rows within rows that do not leave"

    @cached_property
    def _found(self) -> dict[str, Factorized]:
        return coded_columns(self.content, self.copy.request.delivered)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """Position in the microdata of each row, −1 for a decoy."""
        return released_rows(self.copy.leaves, self.order, len(self.decoys))

    @cached_property
    def _real(self) -> Flags:
        return self._rows >= 0

    def _follows(self, name: str) -> Flags:
        """Whether each record's cell of a column is what it should be, and each decoy's where it is a pseudonym."""
        copy, places = self.copy, self._rows[self._real]
        if name in copy.request.pseudonyms:
            of_decoys = [decoy.get(name) for decoy in self.decoys]
            expected = pseudonym_column(copy.rows_as_text[name], self._rows, of_decoys, self.pseudonyms[name])
            return self._equals(name, expected.dictionary_encode(), slice(None))
        if name in copy.masked.names:
            numbers, events = read_numbers(self.content, [name])[self._real, 0], copy.prepared.events
            records = places if events is None else events.of_row[places]
            masked = copy.masked.masked[records, copy.masked.names.index(name)]
            same: Flags = (numbers == masked) | (np.isnan(numbers) & np.isnan(masked))
            return same
        cells = coded_texts(copy.released_text(name))
        collected = pa.DictionaryArray.from_arrays(cells.indices.take(pa.array(places)), cells.dictionary)
        if name in copy.request.quasi_identifiers:
            return self._generalizes(name, collected)
        return self._equals(name, collected, self._real)

    def _equals(self, name: str, expected: pa.DictionaryArray, rows: Flags | slice) -> Flags:
        """Whether some cells of a column are those expected as they are written, two missing ones too."""
        found, texts = self._found[name]
        numbers, used = by_appearance(expected.indices.fill_null(-1).to_numpy())
        written = self._as_written(name, expected.dictionary.take(pa.array(used)))
        place = pc.index_in(written, value_set=pa.array(texts, type=pa.large_string()))
        places = np.append(np.where(pc.is_null(written), -1, place.fill_null(_NOWHERE)), -1)
        same: Flags = places[numbers] == found[rows]
        return same

    def _as_written(self, name: str, texts: pa.Array) -> pa.Array:
        if is_parquet(self.content):
            return rewritten(texts, types_in(self.content)[name])
        return harmless(texts) if is_marked(name, self.copy.request) else texts

    def _generalizes(self, name: str, collected: pa.DictionaryArray) -> Flags:
        """Whether each cell is the one recorded for its record, and a group that holds the record's value."""
        copy, axis = self.copy, self.copy.request.quasi_identifiers.index(name)
        cells = copy.generalization.cells[copy.prepared.tuple_of_row[self._rows[self._real]], axis]
        labels = pa.array(copy.index.axis_labels[axis], type=pa.large_string())
        tree, extra = copy.index.hierarchies[axis], copy.index.safe_harbor[axis]
        leaf = np.append(tree.encode(collected.dictionary.to_numpy(zero_copy_only=False)), tree.missing_leaf)
        of_row = collected.indices.fill_null(-1).to_numpy()
        groups = np.column_stack([tree.finest[tree.positions], extra.positions])[leaf]
        groups[leaf < 0] = -1
        held = np.zeros(len(cells), dtype=np.bool_)
        for level in groups.T:
            held |= level[of_row] == cells
        return self._equals(name, pa.DictionaryArray.from_arrays(pa.array(cells), labels), self._real) & held

    @cached_property
    def _listed(self) -> dict[str, ListedRows]:
        """The groups of each quasi-identifier that are listed with the file: those that occur in it, or are public."""
        index, names = self.copy.index, self.copy.request.quasi_identifiers
        cells = read_cells(self.content, names, index.axis_labels)
        sources = [self.copy.request.attributes[name].hierarchy for name in names]
        return {
            name: listed_rows(tree, extra, np.unique(occurring).tolist(), whole=is_whole(source))
            for name, tree, extra, occurring, source in zip(
                names, index.hierarchies, index.safe_harbor, cells.T, sources, strict=True
            )
        }

    @property
    def left_out(self) -> ListedRows:
        """Combinations of groups that no record is delivered of, as the columns are named in the first row.

        Of a copy whose records have one strategy, whose groups do not overlap, and which has no decoys. Groups that
        do not occur in the file at all are not listed, and so no combination of them is.
        """
        copy, names = self.copy, self.copy.request.quasi_identifiers
        out, local = ~copy.released, copy.index.demands is not None and copy.index.demands.local_recoding
        if not METHODS[copy.generalization.method].common or local or self.decoys or not out.any():
            return ()
        cells = np.unique(copy.generalization.cells[out], axis=0)
        rows = [[labels[cell] for labels, cell in zip(copy.index.axis_labels, row, strict=True)] for row in cells]
        occurring = [{row[0] for row in self._listed[name]} for name in names]
        shown = [row for row in rows if all(label in known for label, known in zip(row, occurring, strict=True))]
        return [list(names), *shown] if shown else ()

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """Labels of coded values by column: of the values that occur in the file, or are listed with it."""
        request, found = self.copy.request, dict[str, dict[str, str]]()
        for name in request.delivered:
            given = request.attributes[name].labels or {}
            shown = {row[0] for row in self._listed[name]} if name in self._listed else set(self._found[name][1])
            if own := {code: label for code, label in given.items() if code in shown}:
                found[name] = own
        return found

    def _identifying(self, name: str) -> bool:
        """Whether a cell of a column, or a group that is listed with it, looks like an identifier."""
        is_quasi = name in self.copy.request.quasi_identifiers
        texts = {label for row in self._listed[name] for label in row} if is_quasi else self._found[name][1]
        request, labels = self.copy.request, self.labels.get(name, {})
        return identifies(request, name, texts, labels=is_quasi) or identifies(
            request, name, labels.values(), labels=True
        )
