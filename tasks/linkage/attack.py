"""Worst-case record linkage of one recipient's file: every attack, less knowledge, and what would give it away."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.decision.linkage_facts import AttackFact, LearnedFact, LinkageFact, PartialKnowledgeFact, PolicyLinkage
from tasks.errors import ParameterError, StageFailed
from tasks.generalization.game import Follower
from tasks.generalization.play import Played, Table, overlapping, play, population_cells
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.linkage.battery import (
    MASKED_ALONE,
    Battery,
    attack_groups,
    attack_informed,
    attack_mixed,
    attack_numbers,
    attack_unchanged,
    sample_of,
)
from tasks.linkage.figure import Floats, Linkage
from tasks.linkage.files import Positions
from tasks.linkage.holdings import Holdings, holdings
from tasks.linkage.judged import gate_figures, link_figure, strongest
from tasks.linkage.learning.components import components_to_link
from tasks.linkage.learning.family import Kind
from tasks.linkage.learning.learn import Learned, learn
from tasks.linkage.mixed import components, mixed_linkage
from tasks.linkage.policies import policy_linkage
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure, Method, Recipient, ReleaseRequest
from tasks.risk.released import released_tuples

_LEARNED_FROM = 200
_MOST_CHOQUET = 5
_FEWEST_LEARNED_FROM = 20
_ORDERS = 3
_PARTIAL_PEOPLE = 200


@dataclass(frozen=True)
class Attacked:
    """What the stage found for one recipient."""

    fact: LinkageFact
    figures: dict[Measure, float]


@dataclass(frozen=True)
class Setting:
    """A recipient's release and the stakes that it was made under."""

    request: ReleaseRequest
    recipient: Recipient
    prepared: Prepared
    table: Table
    played: Played
    columns: MaskedColumns

    @cached_property
    def payoffs(self) -> Follower:
        """The recipient's own side of the game."""
        return own_follower(self.request, self.recipient, self.table.population.total)

    @cached_property
    def game(self) -> Follower:
        """Whom the game is played against."""
        return follower_of(self.request, self.recipient, self.table.population.total)

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each tuple's records are released."""
        return released_tuples(self.table, self.played, self.request.policy.generalization.minimum_class_size)

    @cached_property
    def own_cells(self) -> Codes:
        """Cell that the method gives each tuple of the population."""
        if self.played.own is not None:
            return self.played.own
        asked = self.request
        cell_weights = asked.policy.generalization.cell_weights
        return population_cells(self.table, self.played.method, self.game, weights_of(asked), cell_weights)


def attack(
    setting: Setting,
    generator: np.random.Generator,
    *,
    methods: Sequence[Method] = tuple(Method),
    quick: bool = False,
    hasty: bool = False,
) -> Attacked:
    """Attack a release by linking it to the original file.

    1. Every attack with all that the intruder holds: by groups, by masked numbers, by both; with and without rule and
       maskings.
    2. A distance whose weights are learned from people whose records are known, tried on others.
    3. The same with fewer attributes known.
    4. What the rule of every other generalization would give away.

    Parameters
    ----------
    setting : Setting
    generator : Generator
        Draws the people and the sets of attributes.
    methods : sequence of Method
        Generalizations to compare; those that leave some record no strategy are left out.
    quick : bool
        Only the attacks of 1.
    hasty : bool
        Of these, only those that take little and that most others come near to.

    Raises
    ------
    StageFailed
        If nothing that is known and released varies, so that no attack can be made.
    """
    policy = setting.request.policy.linkage
    held = holdings(
        setting.request,
        setting.prepared,
        setting.table,
        setting.played,
        setting.kept,
        setting.columns,
        lambda: setting.own_cells,
    )
    people = sample_of(held, policy.individuals, generator)
    battery = Battery(quick=hasty)
    _attack_all(battery, held, people, generator)
    learned: tuple[LearnedFact, ...] = ()
    if policy.learned and not quick:
        learned = _learn(battery, held, people, generator)
    attacks = battery.attacks
    uninformed = [one for one in attacks if one.knows == "uninformed"]
    if not uninformed:
        raise StageFailed(
            "no attack could be made on the release",
            where="policy.linkage.known",
            expected="an attribute that leaves, varies and is known",
            got="none",
            fix="let the intruder know a quasi-identifier",
        )
    masked = [one for one in attacks if one.id in MASKED_ALONE]
    fact = LinkageFact(
        known=held.names,
        records=len(held.released),
        initial_share=held.collected_share,
        attacks=tuple(attacks),
        untried=tuple(battery.untried),
        strongest_uninformed=strongest(uninformed).id,
        strongest_informed=strongest(attacks).id,
        strongest_masked=strongest(masked).id if masked else None,
        partial=() if quick else _partial(held, attacks, generator),
        learned=learned,
        policies=() if quick else _policies(setting, methods),
    )
    return Attacked(fact, gate_figures(fact))


def _attack_all(battery: Battery, held: Holdings, people: Positions, generator: np.random.Generator) -> None:
    attack_groups(battery, held, people)
    attack_unchanged(battery, held)
    attack_numbers(battery, held, people)
    attack_mixed(battery, held, people)
    attack_informed(battery, held, people, generator)


def _learn(
    battery: Battery, held: Holdings, people: Positions, generator: np.random.Generator
) -> tuple[LearnedFact, ...]:
    """Learn from some people, try on as many others, and attack the whole release with the weights."""
    names = held.compared
    drawn = generator.permutation(len(held.released))[: 2 * _LEARNED_FROM]
    if len(names) < 2 or len(drawn) < 2 * _FEWEST_LEARNED_FROM:
        return ()
    half = len(drawn) // 2
    given = components_to_link(components(held.mixed(np.sort(drawn))), names=names)
    order = generator.permutation(len(drawn))
    teachers = np.sort(order[:half])
    kinds = [Kind.WEIGHTED_MEAN] + ([Kind.CHOQUET] if len(names) <= _MOST_CHOQUET else [])
    facts, weights = [], None
    for kind in kinds:
        try:
            found = learn(given, kind, generator, records=teachers)
        except ParameterError:
            continue
        equal = learn(given, Kind.ARITHMETIC_MEAN, generator, records=teachers)
        facts.append(_learned_fact(found, equal, half))
        if kind is Kind.WEIGHTED_MEAN:
            weights = found.distance.weights
    if weights is not None:
        taught = np.sort(drawn)[teachers]
        parts = [(np.setdiff1d(people, taught), weights)]
        if len(drawn) == len(held.released):
            rest = np.setdiff1d(np.arange(len(drawn)), teachers)
            parts.append((taught, learn(given, Kind.WEIGHTED_MEAN, generator, records=rest).distance.weights))
        battery.try_one(
            "all-learned",
            "Nearest record by a distance whose weights were learned from other people",
            "uninformed",
            names,
            lambda: _linked_by(held, parts),
        )
    return tuple(facts)


def _linked_by(held: Holdings, parts: Sequence[tuple[Positions, Floats]]) -> tuple[Linkage, bool]:
    """Link some people by weights, others by other weights; a small file's halves teach each other's."""
    found = [mixed_linkage(held.mixed(people), weights.tolist()) for people, weights in parts]
    n_people = sum(one.n for one in found)
    linked = Linkage(sum(one.expected_correct for one in found), n_people, found[0].baseline)
    return linked, n_people == len(held.released)


def _learned_fact(found: Learned, equal: Learned, people: int) -> LearnedFact:
    outside = found.out_of_sample
    return LearnedFact(
        kind=found.distance.kind.value,
        people=people,
        equal=link_figure(equal.in_sample),
        in_sample=link_figure(found.in_sample),
        out_of_sample=link_figure(outside) if outside else None,
        shares=dict(found.distance.attribute_shares),
    )


def _partial(
    held: Holdings, attacks: Sequence[AttackFact], generator: np.random.Generator
) -> tuple[PartialKnowledgeFact, ...]:
    """The best attacks of an intruder who holds fewer attributes, averaged over sets of as many.

    Attributes become known one by one in a few random orders, so that the sets of one order are nested. ``attacks`` are
    those with all of them known.
    """
    names = held.names
    people = sample_of(held, _PARTIAL_PEOPLE, generator)
    orders = [generator.permutation(len(names)).tolist() for _ in range(_ORDERS)]
    facts = []
    for size in range(1, len(names) + 1):
        found, attacked = [], []
        if size == len(names):
            found, attacked = [_best_shares(attacks)], [one.figure.people for one in attacks]
            orders = []
        for known in sorted({tuple(sorted(order[:size])) for order in orders}):
            battery = Battery(quick=True)
            _attack_all(battery, held.only({names[place] for place in known}), people, generator)
            if battery.attacks:
                found.append(_best_shares(battery.attacks))
                attacked += [one.figure.people for one in battery.attacks]
        if found:
            uninformed, informed = np.mean(found, axis=0).tolist()
            facts.append(
                PartialKnowledgeFact(
                    attributes=size,
                    sets=len(found),
                    people=min(attacked),
                    uninformed=uninformed,
                    informed=informed,
                )
            )
    return tuple(facts)


def _best_shares(attacks: Sequence[AttackFact]) -> tuple[float, float]:
    uninformed = [one.figure.share for one in attacks if one.knows == "uninformed"]
    return max(uninformed, default=0.0), max(one.figure.share for one in attacks)


def _policies(setting: Setting, methods: Sequence[Method]) -> tuple[PolicyLinkage, ...]:
    """What the rule gives away, by generalization."""
    asked, facts = setting.request, []
    for method in methods:
        chosen = method is setting.played.method
        played = setting.played if chosen else _played(setting, method)
        if played is None:
            continue
        kept = released_tuples(setting.table, played, asked.policy.generalization.minimum_class_size)
        found = policy_linkage(setting.table, played, setting.payoffs, kept)
        facts.append(
            PolicyLinkage(
                method=method.value,
                chosen=chosen,
                narrowed_share=found.gap_share,
                naive_attacked_share=_attacked_share(setting, kept, played.people),
                transparent_attacked_share=_attacked_share(setting, kept, played.effective),
                uninformed=max(one.share_correct for one in (found.closest, found.matching, found.likely)),
                informed=found.own_cell.share_correct,
                whole_cells=not overlapping(setting.table, method),
            )
        )
    return tuple(facts)


def _attacked_share(setting: Setting, kept: NDArray[np.bool_], sizes: Counts) -> float:
    """Share of the released records that an attempt pays on, by the people of each tuple's group."""
    records = np.where(kept, setting.table.data.counts, 0)
    return float(records[setting.payoffs.attacked(sizes)].sum() / records.sum())


def _played(setting: Setting, method: Method) -> Played | None:
    """Another method's outcome; None where it leaves some record no strategy or nothing to release."""
    cell_weights = setting.request.policy.generalization.cell_weights
    try:
        played = play(setting.table, method, setting.game, weights_of(setting.request), cell_weights)
        released_tuples(setting.table, played, setting.request.policy.generalization.minimum_class_size)
    except StageFailed:
        return None
    return played
