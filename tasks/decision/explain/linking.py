"""Record linkage by an intruder, as measured or estimated under other terms.

As recorded where nothing changes that the figure depends on; elsewhere estimated by attacking anew. An estimate draws
other people than a release would and leaves learned distances out. It is made in two steps: quick attacks on a few
people, and only if these leave the gates open, thorough ones on as many people as the policy asks for. What a quick
attack shows to be closed is closed, for it is judged by the lower ends of its intervals there. A search stays with the
first step until it has found something.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.attack import attack
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.linkage.judged import gate_figures, least_figures
from tasks.candidate.candidate import Candidate
from tasks.decision.gates import judge_gates
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import follower_of, table_under
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.request.model import Measure, Recipient, ReleaseRequest

LINKAGE = frozenset(measure for measure in Measure if measure.value.startswith("linkage."))
"""Measures of linkage by an intruder who holds the original file."""

MaskedFor = Callable[[ReleaseRequest], MaskedColumns]
"""Gives the masked columns of a request."""

_HASTY_PEOPLE = 200
_COSTS = {(True, True): 1.0, (True, False): 0.1, (False, True): 10.0, (False, False): 2.0}
"""Work of an attack on a record, by whether it is quick and whether masked numbers are known."""
_MOST_WORK = 3_000_000
_FEWEST_ATTACKS = 30
_SEED = 20_260_309

_Key = tuple[object, ...]


class TooManyAttacks(Exception):
    """The work that may be spent on attacks for one explanation is spent."""


@dataclass(frozen=True)
class Linked:
    """Figures of gates on linkage, and which of them are estimates."""

    figures: Mapping[Measure, float]
    estimated: frozenset[Measure]


def nothing_masked(_request: ReleaseRequest) -> MaskedColumns:
    """The masked columns of a request that masks none."""
    return NOTHING_MASKED


class Linking:
    """Attacks made so far for one explanation or several on one table.

    Parameters
    ----------
    table : CountIndex
    prepared : Prepared or None
        The records; needed where an attack is made.
    masked_for : callable
        Gives the masked columns of a request.
    """

    def __init__(self, table: CountIndex, prepared: Prepared | None, masked_for: MaskedFor) -> None:
        self.table, self.prepared, self.masked_for = table, prepared, masked_for
        self._recorded: dict[_Key, float] = {}
        self._attacked: dict[_Key, tuple[Mapping[Measure, float], Mapping[Measure, float]]] = {}
        self._work = 0.0

    def renew(self) -> None:
        """Allow as much work again, for another explanation."""
        self._work = 0.0

    def remember(  # noqa: PLR0917
        self,
        request: ReleaseRequest,
        recipient: Recipient,
        played: Generalization,
        kept: NDArray[np.bool_],
        outcome: bytes,
        figures: Mapping[Measure, float],
    ) -> None:
        """Keep what a decision recorded for its outcome."""
        for measure, figure in figures.items():
            key = _scope(
                request,
                recipient,
                played,
                kept,
                outcome,
                people=self.table.population.total,
                alone=measure is Measure.LINKED_MASKED,
            )
            self._recorded[recipient.id, measure, *key] = figure

    def linked(
        self,
        request: ReleaseRequest,
        recipient: Recipient,
        played: Generalization,
        kept: NDArray[np.bool_],
        outcome: bytes,
        *,
        anew: bool = True,
        exact: bool = True,
    ) -> Linked:
        """Figures of the policy's gates on linkage.

        Parameters
        ----------
        request, recipient, played, kept, outcome
            What is released, and a digest of it.
        anew : bool
            Whether attacks may be made; else only those figures are given that take none.
        exact : bool
            Whether gates that quick attacks leave open must be tested by thorough attacks. Else the least figures are
            given that quick attacks allow for.

        Raises
        ------
        TooManyAttacks
            If it takes an attack, and no more may be made.
        StageFailed
            If no attack can be made on such a release.
        """
        judged = [gate.measure for gate in request.policy.gates if gate.measure in LINKAGE]
        figures: dict[Measure, float] = {}
        for measure in judged:
            alone = measure is Measure.LINKED_MASKED
            key = _scope(request, recipient, played, kept, outcome, people=self.table.population.total, alone=alone)
            recorded = self._recorded.get((recipient.id, measure, *key))
            if recorded is not None:
                figures[measure] = recorded
            elif alone and not set(known_attributes(request)).intersection(request.masked):
                figures[measure] = 0.0
        unknown = frozenset(judged) - figures.keys() if anew else frozenset()
        if unknown:
            alone = unknown == {Measure.LINKED_MASKED}
            key = _scope(request, recipient, played, kept, outcome, people=self.table.population.total, alone=alone)
            found = self._estimated(request, recipient, played, key, alone=alone, exact=exact)
            figures |= {measure: found[measure] for measure in unknown}
        return Linked(figures, unknown)

    def without_numbers(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization
    ) -> Mapping[Measure, float]:
        """Lowest figures of linkage, from all that is known but the masked numbers; empty where nothing else is known.

        Raises
        ------
        TooManyAttacks, StageFailed
            As ``linked``.
        """
        others = tuple(name for name in known_attributes(request) if name not in request.masked)
        if not others:
            return {}
        _, least = self._attack(_knowing(request, others), recipient, played, hasty=True)
        return least

    def _estimated(
        self,
        request: ReleaseRequest,
        recipient: Recipient,
        played: Generalization,
        key: _Key,
        *,
        alone: bool,
        exact: bool,
    ) -> Mapping[Measure, float]:
        if alone:
            known = set(known_attributes(request)).intersection(request.masked)
            request = _knowing(request, tuple(name for name in request.attributes if name in known))
        hasty, least = self._once((True, *key), request, recipient, played)
        if not exact:
            return least
        if not _all_open(request, least):
            return hasty
        thorough, _ = self._once((False, *key), request, recipient, played)
        return thorough

    def _once(
        self, key: _Key, request: ReleaseRequest, recipient: Recipient, played: Generalization
    ) -> tuple[Mapping[Measure, float], Mapping[Measure, float]]:
        if key not in self._attacked:
            self._attacked[key] = self._attack(request, recipient, played, hasty=bool(key[0]))
        return self._attacked[key]

    def _attack(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization, *, hasty: bool
    ) -> tuple[Mapping[Measure, float], Mapping[Measure, float]]:
        """Figures as gates would judge them, and the least that they can be."""
        if self.prepared is None:
            raise ValueError("an attack needs the records")
        records = len(self.prepared.tuple_of_record)
        cost = _COSTS[hasty, not set(request.masked).isdisjoint(known_attributes(request))]
        if (self._work + cost) * records > max(_MOST_WORK, _FEWEST_ATTACKS * records):
            raise TooManyAttacks
        self._work += cost
        if hasty:
            request = _linkage_of(request, individuals=min(_HASTY_PEOPLE, request.policy.linkage.individuals))
        columns = self.masked_for(request)
        table = table_under(self.table, request)
        candidate = Candidate(request, recipient, self.prepared, table, played, columns)
        fact = attack(candidate, np.random.default_rng(_SEED), quick=True, hasty=hasty).fact
        return gate_figures(fact), least_figures(fact)


def _all_open(request: ReleaseRequest, figures: Mapping[Measure, float]) -> bool:
    gates = [gate for gate in request.policy.gates if gate.measure in LINKAGE]
    return all(gate.passed for gate in judge_gates(gates, figures))


def _knowing(request: ReleaseRequest, known: tuple[str, ...]) -> ReleaseRequest:
    return _linkage_of(request, known=known)


def _linkage_of(request: ReleaseRequest, **terms: object) -> ReleaseRequest:
    linkage = request.policy.linkage.model_copy(update=terms)
    return request.model_copy(update={"policy": request.policy.model_copy(update={"linkage": linkage})})


def _scope(
    request: ReleaseRequest,
    recipient: Recipient,
    played: Generalization,
    kept: NDArray[np.bool_],
    outcome: bytes,
    *,
    people: int,
    alone: bool,
) -> _Key:
    """All that figures depend on; those by masked numbers alone on the records that are kept, not on their cells."""
    masking = tuple(one.model_dump_json() for one in request.masking)
    if alone:
        return "numbers", blake2b(np.ascontiguousarray(kept).data, digest_size=20).digest(), masking
    known = known_attributes(request)
    # Somebody who lacks a quasi-identifier goes by what the rule does with the whole population.
    stakes = () if set(request.quasi_identifiers) <= set(known) else (follower_of(request, recipient, people),)
    demands = request.policy.generalization.k_anonymity
    return "all", outcome, played.method, demands and demands.model_dump_json(), masking, known, *stakes
