"""The records that are released, and the groups that an adversary with external data finds them in.

A released cell stands for the people whose own cell it is (the effective group), since a recipient who knows the method
rules out the others. Of them the external data list those in the register or, without one, the share of the prior.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.consulting import alike, consulted, freed
from tasks.adversary.decisions import access_pays
from tasks.adversary.derived_profile import DerivedProfile, derive_profile
from tasks.adversary.fmdp import expected_linked_values, exploits_made, linked_values, sink_probability
from tasks.adversary.group_sizes import expected_candidates, expected_listed
from tasks.adversary.profile import AdversaryProfile
from tasks.adversary.rounding import Attack, least_favourable, least_favourable_from
from tasks.adversary.unsure_access import least_favourable_belief
from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import suppressed
from tasks.microdata.tuples import Counts
from tasks.request.model import Recipient, ReleaseRequest

Floats = NDArray[np.float64]


def probability_present(request: ReleaseRequest, records: Counts, people: Counts) -> Floats:
    """Probability that one of the people whom each class could be is in the file: 1 where others can know who is.

    ``records`` are those of each class and ``people`` whom they could be, shape (n_classes,) as the result.
    """
    if request.policy.presence == "known":
        return np.ones(len(records))
    return np.asarray(np.minimum(records / np.maximum(people, 1), 1.0))


@dataclass(frozen=True)
class Groups:
    """Candidates of the records of each tuple; all arrays of length n_tuples."""

    candidates: Counts
    """People of the group that the external data list; from 0."""
    densities: Floats
    """Share of the population that the group is, 0 to 1."""
    records: Counts
    """Records of each tuple."""
    external_size: int
    """People in the external data."""
    people: Counts | None = None
    """People of each group where the prior says how many of them are listed; None with a register, which counts."""
    population: int = 0
    """People in all, likewise; 0 with a register."""
    from_below: bool = False
    """Whether a group may have more people than are counted, and is judged at whatever size is worst."""

    def smallest(self) -> "Groups":
        """The eight groups with the fewest candidates."""
        first = np.argsort(self.candidates, kind="stable")[:8]
        return self._at(first, self.records[first])

    def distinct(self) -> "Groups":
        """These groups, equal ones joined with all their records."""
        pairs = np.column_stack([self.candidates, self.densities])  # a group's density says how many people it has
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        return self._at(first, np.bincount(place.ravel(), self.records).astype(np.int64))

    def _at(self, places: NDArray[np.intp], records: Counts) -> "Groups":
        people = None if self.people is None else self.people[places]
        return replace(
            self, candidates=self.candidates[places], densities=self.densities[places], records=records, people=people
        )


def collected_groups(table: CountIndex, prior: float) -> Groups:
    """Groups of the records as collected: the people with the same quasi-identifiers."""
    place = table.population.find(table.data.keys)
    people = np.where(place >= 0, table.population.counts[place], 0)
    listed = None if table.listed is None else np.where(place >= 0, table.listed[place], 0)
    return groups(table, people, listed, table.data.counts, prior)


def collected_profile(recipient: Recipient, table: CountIndex) -> AdversaryProfile:
    """The recipient as an adversary against the records as collected: the prior is that of their own groups.

    A declared prior below what the register implies of them is not refused here: groups that do not leave deter nobody.
    """
    declared = derive_profile(recipient).profile
    groups = collected_groups(table, declared.prior)
    if table.listed is None:
        return declared
    people = np.rint(groups.densities * table.population.total).astype(np.int64)
    stated = recipient.adversary and recipient.adversary.prior
    undeclared = recipient.model_copy(update={"adversary": None})
    share = derive_profile(undeclared, *densest(people, groups.candidates)).profile.prior
    return replace(declared, prior=max(share, stated or 0.0))


def released_groups(table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_], prior: float) -> Groups:
    """Groups of the released records; ``kept`` says of each tuple whether it is released."""
    listed = None if generalization.listed is None else generalization.listed[kept]
    return groups(table, generalization.effective[kept], listed, table.data.counts[kept], prior)


def densest_group(generalization: Generalization, kept: NDArray[np.bool_]) -> tuple[int | None, int]:
    """``densest`` of the released groups; ``kept`` says of each tuple whether it is released."""
    listed = generalization.listed
    return densest(generalization.effective[kept], None if listed is None else listed[kept])


def densest(people: Counts, listed: Counts | None) -> tuple[int | None, int]:
    """People listed (None without a register), and all people, of the group with the largest share in the register.

    A smaller prior than this share would count the group's candidates as less likely to be the target than they are.
    """
    if listed is None:
        return None, 1
    people = np.maximum(people, 1)
    place = int(np.argmax(listed / people))
    return int(listed[place]), int(people[place])


def groups(table: CountIndex, people: Counts, listed: Counts | None, records: Counts, prior: float) -> Groups:
    """Groups of given sizes: people of the population, those of them in the register, and records, shape (n_groups,).

    Without a register the prior says how many are listed, rounded up and at least one.
    """
    total = table.population.total
    if listed is not None and table.listed is not None:
        return Groups(listed, people / total, records, int(table.listed.sum()))
    candidates, external = expected_candidates(prior, people), expected_listed(prior, total)
    return Groups(candidates, people / total, records, external, np.maximum(people, 1), total, table.from_below)


def attack_on(profile: AdversaryProfile, groups: Groups) -> Attack:
    """The attack on groups once access is paid; nobody listed is nobody attacked. Errors as of ``least_favourable``."""
    if groups.people is not None:
        return (least_favourable_from if groups.from_below else least_favourable)(profile, groups.people)
    figures = np.zeros((3, len(groups.candidates)))
    listed = groups.candidates > 0
    for row, function in enumerate((linked_values, sink_probability, exploits_made)):
        figures[row, listed] = function(profile, groups.candidates[listed])
    return Attack(*figures)


def believed_worth(profile: AdversaryProfile, groups: Groups, threshold: float | None = None) -> float:
    """W of all records, expected by one who only believes the groups binomial; ``threshold`` as of the bound."""
    densities, records = groups.densities, groups.records
    if profile.resources:
        return max(believed_worth(one, groups, threshold) for one in alike(profile))
    if groups.people is None:
        return float(records @ expected_linked_values(profile, densities, groups.external_size))
    return least_favourable_belief(profile, densities, records, groups.population, threshold)


def within_reach(profile: AdversaryProfile, groups: Groups) -> AdversaryProfile:
    """The adversary who attacks a whole file, whose resources are each paid once: those that may be, and then free.

    An upper bound. A resource is paid for only where what it may bring, of all records if none has been found yet and
    nothing more is fined, exceeds its cost; whoever need not pay tries no fewer candidates.
    """
    if len(profile.resources) < 2 or groups.people is None:
        return profile
    opened = consulted(freed(profile), groups.people).opened
    for place, one in enumerate(profile.resources[1:], start=1):
        worth = np.maximum(profile.discount * opened[place] - profile.link_cost, 0.0)
        if not access_pays(replace(profile, access_cost=one.access_cost), np.asarray(worth @ groups.records)):
            return freed(profile, place)
    return freed(profile)


def recipient_profile(recipient: Recipient, generalization: Generalization, kept: NDArray[np.bool_]) -> DerivedProfile:
    """The recipient as an adversary, against the groups of the tuples that are released to it."""
    return derive_profile(recipient, *densest_group(generalization, kept))


def released_tuples(table: CountIndex, generalization: Generalization, minimum_class_size: int) -> NDArray[np.bool_]:
    """Whether each tuple's records are released; raises ``StageFailed`` if every record would be suppressed."""
    kept = np.ones(len(table.data), dtype=np.bool_) if generalization.withheld is None else ~generalization.withheld
    left_out = "budget" if generalization.budget is not None else "k_anonymity"
    if kept.any():
        left_out = "minimum_class_size"
        numbers = cell_numbers(generalization.cells[kept], table.axis_sizes)
        kept[kept] = ~suppressed(numbers, table.data.counts[kept], minimum_class_size)
    if not kept.any():
        expected, fix = _NONE_LEFT[left_out]
        raise StageFailed(
            "every record would be suppressed",
            where=f"policy.generalization.{left_out}",
            expected=expected,
            got="none",
            fix=fix,
        )
    return kept


_NONE_LEFT = {
    "budget": (
        "a release of at least one record within the limits",
        "widen the limits, or allow less suppression so that more general cells are taken",
    ),
    "k_anonymity": (
        "at least one class that meets its demands",
        "lower k or the other demands, or suppression_limit, so that more general classes are taken",
    ),
    "minimum_class_size": ("at least one class of that size", "lower the minimum class size or generalize more"),
}
"""Expected condition and remedy where nothing is left, by the term that suppressed the last record."""
