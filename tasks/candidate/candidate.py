"""A candidate: one recipient's copy as it would leave; everything else about the copy is derived from it, once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.adversary.derived_profile import DerivedProfile
from tasks.candidate.coalition import Coalition, coalitions_of, own_cells
from tasks.candidate.groups import Groups, probability_present, recipient_profile, released_groups, released_tuples
from tasks.core.fact import Fact
from tasks.dates.released_dates import NO_DATES, ReleasedDates, released_dates
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.known_rows import WithheldTables, beyond_most, event_numbers, withheld_rows
from tasks.generalization.setting import follower_of, game_table, generalized_against, own_follower, weights_of
from tasks.generalization.suppression import class_sizes
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns, mask_columns, with_masked
from tasks.microdata.coded import Events, Prepared, certain_columns
from tasks.microdata.hierarchy import Codes
from tasks.microdata.persons import records_of
from tasks.request.model import Recipient, ReleaseRequest

Flags = NDArray[np.bool_]
Randomness = Callable[[str], np.random.Generator]
"""The generator of one purpose; the same purpose, the same numbers."""


@dataclass(frozen=True, eq=False)
class Redaction:
    """Columns of free text as they leave, the same in every copy."""

    texts: Mapping[str, pd.Series] = field(repr=False)
    """Redacted text of each row of the microdata, by column; NA where there is none."""
    fact: Fact
    """Replacements, remaining identifiers, and the scanner's performance."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One recipient's copy as it would leave."""

    request: ReleaseRequest
    recipient: Recipient
    prepared: Prepared = field(repr=False)
    """Microdata and population in integer codes."""
    index: CountIndex = field(repr=False)
    """Both counted by distinct tuples."""
    generalization: Generalization = field(repr=False)
    """Released cell of every distinct tuple, and the people who match each cell."""
    masked: MaskedColumns = field(default=NOTHING_MASKED, repr=False)
    """Numeric columns before and after masking."""
    dates: ReleasedDates = field(default=NO_DATES, repr=False)
    """Dates that leave shifted or relative, as collected and as released; ``prepared`` has the latter."""
    before_dates: Prepared | None = field(default=None, repr=False)
    """The coded records with dates as collected; None where all dates leave as they are."""
    source: Callable[[], pd.DataFrame] | None = field(default=None, repr=False)
    """Reads the microdata as text; None where the records are not available."""
    randomness: Randomness = field(default=lambda _purpose: np.random.default_rng(), repr=False)
    """Source of random numbers for measurements."""
    known: Mapping[str, Fact] = field(default_factory=dict, repr=False)
    """Facts that need not be measured again, by name: shared by all recipients, or known from an earlier decision."""
    redacted: Callable[[], Redaction] | None = field(default=None, repr=False)
    """Redacts its text; None where the records are not available."""
    already_released: Flags | None = field(default=None, repr=False)
    """Whether each tuple's records are in a copy that was released; None where the policy decides."""

    @property
    def rows_as_text(self) -> pd.DataFrame:
        """The microdata as text, missing cells as NA; raises ``LookupError`` where the rows are not available."""
        if self.source is None:
            raise LookupError("the candidate has no microdata")
        return self.source()

    def redacted_text(self, name: str) -> pd.Series:
        """A column of text as it leaves, by row; raises ``LookupError`` where the text was not redacted."""
        if self.redacted is None:
            raise LookupError("the candidate has no redacted text")
        return self.redacted().texts[name]

    @property
    def frame(self) -> pd.DataFrame:
        """Its records, of each person the first row; errors as of ``rows_as_text``."""
        events = self.prepared.events
        return records_of(self.rows_as_text, None if events is None else events.persons)

    @cached_property
    def released(self) -> Flags:
        """Whether each distinct tuple's records are released, (n_tuples,); raises ``StageFailed`` if none can be."""
        if self.already_released is not None:
            return self.already_released
        from tasks.candidate.value_counts import disclosing  # noqa: PLC0415  SciPy, which publishing does without

        least = self.request.policy.generalization.minimum_class_size
        kept = released_tuples(self.index, self.generalization, least)
        cells = self.generalization.cells
        numbers = cell_numbers(cells, self.index.axis_sizes)
        return kept & ~disclosing(self.request, self.as_masked, numbers, cells, kept)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Position among the records of each released one."""
        return np.flatnonzero(self.released[self.prepared.tuple_of_record])

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """Records of each released tuple."""
        return self.index.data.counts[self.released]

    @cached_property
    def digest(self) -> bytes:
        """Equal for copies whose records are released in the same cells, among the same people."""
        made, digest = self.generalization, blake2b(digest_size=20)
        for array in (made.cells, made.kept, made.people, made.effective, made.listed, self.released):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
        return digest.digest()

    @property
    def weights(self) -> Floats:
        """Weight of each quasi-identifier in the information loss."""
        return weights_of(self.request)

    @cached_property
    def payoffs(self) -> Follower:
        """The recipient's own side of the game."""
        return own_follower(self.request, self.recipient, self.index.population.total, from_below=self.index.from_below)

    @cached_property
    def game(self) -> Follower:
        """The follower of the generalization's game: the recipient, or all who share its representation."""
        return follower_of(self.request, self.recipient, self.index.population.total, from_below=self.index.from_below)

    @cached_property
    def own_cells(self) -> Codes:
        """Cell that the generalization gives each population tuple, shape (n_population_tuples, n_attributes)."""
        return own_cells(self.index, self.generalization, self.request, self.recipient)

    @cached_property
    def adversary(self) -> DerivedProfile:
        """The recipient as a sequential adversary against the released groups; raises ``ParameterError``."""
        return recipient_profile(self.recipient, self.generalization, self.released)

    @cached_property
    def groups(self) -> Groups:
        """Candidates of each released tuple's records in the external data."""
        return released_groups(self.index, self.generalization, self.released, self.adversary.profile.prior)

    @cached_property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The copy as every set of recipients sees it who may pool their copies; none where the policy names none."""
        return coalitions_of(self.index, self.generalization, self.released, self.request, self.recipient)

    @cached_property
    def as_masked(self) -> Prepared:
        """The coded records with the values of masked columns as they leave."""
        return with_masked(self.prepared, self.request, self.masked)

    @cached_property
    def withheld_rows(self) -> Flags | None:
        """Rows of the file whose known attributes are withheld; None where the policy withholds none."""
        events, terms, names = self.prepared.events, self.request.policy.events, self.request.known_events
        if events is None or not terms.withholds or not names:
            return None
        record = np.full(len(self.prepared.tuple_of_record), -1, dtype=np.int64)
        record[self.rows] = np.arange(len(self.rows))
        cells = cell_numbers(self.generalization.cells, self.index.axis_sizes)[self.prepared.tuple_of_record[self.rows]]
        known = [self.as_masked.columns[name].codes[self.rows] for name in certain_columns(self.request)]
        rows = np.flatnonzero(record[events.of_row] >= 0)
        columns = [events.columns[name] for name in names]
        tables = None if events.tables is None else events.tables.only(rows)
        of_table = [] if tables is None else [np.append(tables.of_row, 0)]
        number = event_numbers([*(np.append(one.codes[rows], one.missing) for one in columns), *of_table])
        classes, persons = event_numbers([cells, *known]), record[events.of_row[rows]]
        gone, withheld = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(events.of_row), dtype=np.bool_)
        knowable = ~gone if tables is None else tables.known(self.request)
        if terms.most_rows is not None:
            gone[knowable] = beyond_most(persons[knowable], number[:-1][knowable], terms.most_rows)
            gone = gone if tables is None else tables.with_inner(gone)
        if terms.people is not None and terms.known != "all":
            gone |= withheld_rows(
                classes,
                persons,
                np.where(gone, number[-1], number[:-1]),
                known=terms.known,
                least=terms.people,
                nothing=int(number[-1]),
                tables=None if tables is None else WithheldTables(tables, knowable & ~(gone & (tables.of_row > 0))),
            )
        withheld[rows] = gone
        return withheld

    @cached_property
    def leaves(self) -> Flags:
        """Whether each row of the microdata leaves: the rows of released persons, but withheld rows of further tables.

        Withheld rows of the dataset leave without their known attributes.
        """
        found: Flags = self.released[self.prepared.tuple_of_row]
        events, withheld = self.prepared.events, self.withheld_rows
        if withheld is None or events is None or events.tables is None:
            return found
        return found & ~(withheld & (events.tables.of_row > 0))

    @cached_property
    def released_events(self) -> Events | None:
        """The rows of persons as they leave: known attributes of withheld rows are missing."""
        events, withheld = self.prepared.events, self.withheld_rows
        if events is None or withheld is None:
            return events
        columns = {
            name: replace(one, codes=np.where(withheld, one.missing, one.codes).astype(one.codes.dtype))
            if name in self.request.known_events
            else one
            for name, one in events.columns.items()
        }
        return replace(events, columns=columns)

    def released_text(self, name: str) -> pd.Series:
        """A column as it leaves, by row: texts redacted, dates treated, withheld cells of rows NA.

        Errors are those of ``rows_as_text`` and ``redacted_text``.
        """
        if name in self.request.texts:
            return self.redacted_text(name)
        if name in self.dates.columns:
            return self.dates.columns[name].text
        cells: pd.Series = self.rows_as_text[name]
        if self.withheld_rows is None or name not in self.request.known_events:
            return cells
        return cells.mask(self.withheld_rows)

    def presence(self, people: NDArray[np.int64], coalition: Coalition | None = None) -> Floats:
        """Probability that whom the class of each released record could be is in the file.

        The class is that of the copy alone, or as a coalition sees it.
        """
        if coalition is None:
            sizes = np.zeros(len(self.released), dtype=np.int64)
            numbers = cell_numbers(self.generalization.cells, self.index.axis_sizes)[self.released]
            sizes[self.released] = class_sizes(numbers, self.records)
        else:
            sizes = coalition.classes
        return probability_present(self.request, sizes, people)[self.prepared.tuple_of_record[self.rows]]

    def seen_by(self, coalition: Coalition) -> "Candidate":
        """The copy with the groups that are left to a coalition."""
        return replace(self, generalization=coalition.copy, already_released=self.released)

    def with_dates(self, dates: ReleasedDates) -> "Candidate":
        """The copy with its dates as they leave."""
        prepared = dates.applied(self.prepared, self.request)
        return replace(self, dates=dates, prepared=prepared, before_dates=self.prepared)

    @property
    def as_collected(self) -> Prepared:
        """The coded records with dates, too, as they were collected."""
        return self.prepared if self.before_dates is None else self.before_dates

    def generalized_as(self, generalization: Generalization) -> "Candidate":
        """The copy under another generalization."""
        return replace(self, generalization=generalization, already_released=None)


class CandidateSource:
    """The data of a request, counted and masked once for all of its recipients; ``frame`` as ``rows_as_text``."""

    def __init__(
        self, request: ReleaseRequest, prepared: Prepared, frame: pd.DataFrame, randomness: Randomness
    ) -> None:
        self.request, self.prepared, self.frame, self.randomness = request, prepared, frame, randomness
        self.index = game_table(request, prepared)
        self.known: dict[str, Fact] = {}
        """Facts that are the same for every recipient."""
        self.redacted: Callable[[], Redaction] | None = None
        """Redacts the text of the file."""

    @cached_property
    def masked(self) -> MaskedColumns:
        """Numeric columns before and after masking."""
        return mask_columns(self.request, self.frame, self.randomness)

    def candidate(self, recipient: Recipient) -> Candidate:
        """The recipient's copy; raises ``StageFailed`` if a record has no strategy or k-anonymity cannot be reached."""
        follower = follower_of(self.request, recipient, self.index.population.total, from_below=self.index.from_below)
        made = Candidate(
            request=self.request,
            recipient=recipient,
            prepared=self.prepared,
            index=self.index,
            generalization=generalized_against(self.index, self.request, recipient, follower),
            masked=self.masked,
            source=lambda: self.frame,
            randomness=self.randomness,
            known=self.known,
            redacted=self.redacted,
        )
        if not self.request.dated:
            return made
        key = self.randomness(f"date offsets {recipient.id}").bytes(32)  # no release delivers these dates
        return made.with_dates(released_dates(self.request, self.frame, key))
