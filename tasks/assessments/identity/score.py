"""All figures of one recipient's release: risk before and after, the game, the fields, and the gate figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.deduced import deduced_bits
from tasks.assessments.identity.facts import (
    AT_LEVEL,
    BudgetFact,
    FieldFact,
    GameFact,
    KAnonymityFact,
    PolicyOutcome,
    RiskFact,
    RiskView,
    TransparentRisk,
    ZipTableFact,
)
from tasks.assessments.identity.outcome import (
    coalition_fact,
    division_fact,
    policy_outcome,
    risk_view,
    sharing_fact,
    transparent_risk,
)
from tasks.candidate.coalition import Coalition, coalitions_of, own_cells, worst
from tasks.candidate.groups import released_tuples
from tasks.core.errors import StageFailed
from tasks.generalization.budget.limits import of_copy
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.demands import demanded, in_words
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.game.sequential_follower import Belief
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.game.zip3 import zip_table
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.generalization.suppression import check_copy, class_sizes
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.request.dates import dates_in_words
from tasks.request.model import Attribute, Measure, Method, Policy, Recipient, ReleaseRequest, Role, SafeHarborRule

THREATS = (
    "Prosecutor: knows that the target is in the file.",
    "Journalist: picks any target in the population.",
    "Marketer: links as many records as possible.",
    "Informed recipient: knows the hierarchies, the rule and the stakes, and has the population's counts.",
    "Sequential adversary: tries one candidate after another for as long as it pays, at the risk of a penalty.",
    "Acquaintance: knows that a person is in the file, and some of its attributes, and learns the rest.",
    "Holder of the original file: links it to the release, with or without the rule and the maskings known.",
)


@dataclass(frozen=True)
class Score:
    """Score of one recipient's generalized file."""

    risk: RiskFact
    fields: tuple[FieldFact, ...]
    figures: dict[Measure, float]


def residual_risk(
    table: CountIndex,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    payoffs: Follower,
    policy: Policy,
    *,
    classes: Counts | None = None,
) -> tuple[RiskView, TransparentRisk]:
    """Risk of the records that are released; ``classes`` by data tuple, where they are not those of the file alone."""
    records = table.data.counts[kept]
    people, effective = generalization.people[kept], generalization.effective[kept]
    numbers = cell_numbers(generalization.cells[kept], table.axis_sizes)
    own = class_sizes(numbers, records) if classes is None else classes[kept]
    seen = risk_view(own, people, records, policy.risk_threshold, policy.small_cell)
    return seen, transparent_risk(people, effective, records, payoffs)


def gate_figures(
    table: CountIndex,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    payoffs: Follower,
    risk: tuple[RiskView, TransparentRisk],
) -> dict[Measure, float]:
    """Every figure of one copy that a gate can use; payoff and information count suppressed records as nothing."""
    records, total = table.data.counts, table.data.total
    informed = payoffs.publisher(payoffs.benefit * generalization.kept, generalization.effective)
    return {
        **risk_figures(*risk),
        Measure.SUPPRESSED_SHARE: float(records[~kept].sum() / total),
        Measure.INFORMATION_KEPT: float((records * generalization.kept)[kept].sum() / total),
        Measure.PUBLISHER_PAYOFF: float((records * informed)[kept].sum() / total),
    }


def risk_figures(residual: RiskView, transparent: TransparentRisk) -> dict[Measure, float]:
    """The figures that follow from the groups of the released records alone."""
    return {
        Measure.TRANSPARENT_MAXIMUM: transparent.maximum_risk,
        Measure.TRANSPARENT_MEAN: transparent.mean_risk,
        Measure.TRANSPARENT_ATTACKED: transparent.attacked_share,
        Measure.TRANSPARENT_EXPECTED: transparent.expected_reidentifications,
        Measure.PROSECUTOR_MAXIMUM: residual.prosecutor.maximum,
        Measure.PROSECUTOR_MEAN: residual.prosecutor.mean,
        Measure.JOURNALIST_MAXIMUM: residual.journalist.maximum,
        Measure.JOURNALIST_MEAN: residual.journalist.mean,
        Measure.SMALLEST_CLASS: float(residual.smallest_class),
    }


def identity_figures(  # noqa: PLR0917
    table: CountIndex,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    payoffs: Follower,
    risk: tuple[RiskView, TransparentRisk],
    coalitions: Sequence[Coalition],
    policy: Policy,
) -> dict[Measure, float]:
    """Gate figures of identity disclosure: for each, the worst of the copy alone and of every coalition.

    ``risk`` is that of the copy alone.
    """
    pooled = []
    for one in coalitions:
        seen = residual_risk(table, one.copy, kept, payoffs, policy, classes=one.classes)
        pooled.append(gate_figures(table, one.copy, kept, payoffs, seen))
    return worst(gate_figures(table, generalization, kept, payoffs, risk), pooled)


def score(
    table: CountIndex,
    generalization: Generalization,
    request: ReleaseRequest,
    recipient: Recipient,
    distinct_values: Mapping[str, int],
    *,
    compare: Sequence[Method] = tuple(Method),
    released: NDArray[np.bool_] | None = None,
) -> Score:
    """Score a generalization for one recipient.

    ``distinct_values`` are the numbers of distinct values of each column of the microdata; ``compare`` the methods to
    report beside the chosen one, of which those that leave a record without a strategy are omitted; ``released`` the
    tuples whose records leave, by the policy's terms where not given.

    Raises StageFailed if nothing is left to release, or a copy goes without more than a budget or k-anonymity allows.
    """
    policy, weights, people = request.policy, weights_of(request), table.population.total
    payoffs, game = (
        one(request, recipient, people, from_below=table.from_below) for one in (own_follower, follower_of)
    )
    by_size = released_tuples(table, generalization, policy.generalization.minimum_class_size)
    kept = by_size if released is None else released
    residual = residual_risk(table, generalization, kept, payoffs, policy)
    coalitions = coalitions_of(table, generalization, kept, request, recipient)
    records = table.data.counts
    place = table.population.find(table.data.keys)
    own_people = np.where(place >= 0, table.population.counts[place], 0)
    by_zip = any(attribute.safe_harbor is SafeHarborRule.ZIP for attribute in request.attributes.values())
    zips = zip_table() if by_zip else None
    risk = RiskFact(
        threats=THREATS,
        threshold=policy.risk_threshold,
        initial=risk_view(records, own_people, records, policy.risk_threshold, policy.small_cell),
        residual=residual[0],
        transparent=residual[1],
        game=GameFact(
            method=generalization.method.value,
            weights=dict(zip(request.quasi_identifiers, weights.tolist(), strict=True)),
            lattice_nodes=int(np.prod([hierarchy.n_levels for hierarchy in table.hierarchies])),
            cube_cells=table.cube_cells,
            cube_form=table.people.form,
            distinct_tuples=len(table.data),
            cell_weights=policy.generalization.cell_weights,
            minimum_class_size=policy.generalization.minimum_class_size,
            suppressed_records=int(records[~kept].sum()),
            suppressed_classes=len(np.unique(generalization.cells[~kept], axis=0)),
            disclosing_records=int(records[by_size & ~kept].sum()),
            outcomes=compare_methods(
                table,
                generalization,
                payoffs,
                weights,
                cell_weights=policy.generalization.cell_weights,
                methods=compare,
                game=game,
            ),
            k_anonymity=_k_anonymity(table, request, generalization),
            budget=_budget(table, request, generalization, kept),
            adversary=adversary_of(request),
            sharing=sharing_fact(table, generalization, request, recipient),
            division=division_fact(table, generalization, policy.generalization.cell_weights),
            deduced=None
            if METHODS[generalization.method].whole_cells and generalization.k_anonymity is None
            else deduced_bits(table, generalization, kept, own_cells(table, generalization, request, recipient)),
        ),
        zip_table=ZipTableFact(
            census=zips.census, sha256=zips.sha256, restricted_prefixes=tuple(sorted(zips.restricted))
        )
        if zips
        else None,
        coalitions=tuple(coalition_fact(table, generalization, kept, one, payoffs) for one in coalitions),
    )
    return Score(
        risk=risk,
        fields=_fields(table, generalization, kept, request, distinct_values),
        figures=identity_figures(table, generalization, kept, payoffs, residual, coalitions, policy),
    )


def compare_methods(
    table: CountIndex,
    chosen: Generalization,
    payoffs: Follower,
    weights: Floats,
    *,
    cell_weights: str,
    methods: Sequence[Method],
    game: Follower | None = None,
) -> tuple[PolicyOutcome, ...]:
    """Outcomes of several methods under the same stakes, the chosen one marked.

    ``game`` is the follower of the methods' game where it is not the recipient alone; ``payoffs``, the recipient's own,
    give the outcomes.
    """
    outcomes = []
    for method in methods:
        own = method is chosen.method
        try:
            made = chosen if own else generalize(table, method, game or payoffs, weights, cell_weights)
        except StageFailed:
            continue
        outcomes.append(policy_outcome(table, made, payoffs, chosen=own))
    return tuple(outcomes)


def adversary_of(request: ReleaseRequest) -> str:
    """The adversary in the game of a request, in the words of the record."""
    policy = request.policy.generalization
    if policy.adversary == "one-shot":
        return policy.adversary
    return f"{policy.adversary}, {policy.adversary_belief or Belief.SUNK.value}"


def _k_anonymity(table: CountIndex, request: ReleaseRequest, generalization: Generalization) -> KAnonymityFact | None:
    terms, outcome = request.policy.generalization.k_anonymity, generalization.k_anonymity
    if terms is None or outcome is None:
        return None
    check_copy(table.data.counts, generalization.withheld, terms.suppression_limit)
    return KAnonymityFact(
        k=terms.k,
        suppression_limit=terms.suppression_limit,
        people=terms.people,
        demands=in_words(terms),
        kinds=tuple(model.term for model, _ in demanded(terms) if model.sources),
        local_recoding=terms.local_recoding,
        **outcome.model_dump(),
    )


def _budget(
    table: CountIndex, request: ReleaseRequest, generalization: Generalization, kept: NDArray[np.bool_]
) -> BudgetFact | None:
    terms, withheld = request.budget, generalization.withheld
    if terms is None or generalization.budget is None:
        return None
    outcome = of_copy(generalization.budget, table.hierarchies, table.data, generalization.cells, kept)
    return BudgetFact(
        **outcome.model_dump(),
        least_people=terms.least_people,
        least_records=terms.least_records,
        suppressed_records=0 if withheld is None else int(table.data.counts[withheld].sum()),
    )


def _fields(
    table: CountIndex,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    request: ReleaseRequest,
    distinct_values: Mapping[str, int],
) -> tuple[FieldFact, ...]:
    axis_of = {name: axis for axis, name in enumerate(request.quasi_identifiers)}
    masked_by = {name: masking.method.value for masking in request.masking for name in masking.attributes}
    fields = []
    for name, attribute in request.attributes.items():
        finest = attribute.level or 0
        details = _generalized(table, generalization, kept, axis_of[name], finest) if name in axis_of else {}
        crossing = name in axis_of and not table.hierarchies[axis_of[name]].is_tree
        treatment = dates_in_words(request, name) or _treatment(
            attribute, generalization, masked_by.get(name), crossing=crossing
        )
        fields.append(FieldFact.of(name, attribute, distinct_values[name], treatment, **details))
    return tuple(fields)


def _treatment(attribute: Attribute, generalization: Generalization, masked_by: str | None, *, crossing: bool) -> str:
    if attribute.treatment:
        return attribute.treatment
    if attribute.role is Role.QUASI:
        further = generalization.k_anonymity and generalization.method is not Method.K_ANONYMITY
        after = ", then k-anonymity" if further else ""
        finest = f", at level {attribute.level} of its hierarchy or coarser" if attribute.level else ""
        crossed = ", along levels that cross" if crossing else ""
        return f"generalized ({generalization.method.value}{after}{crossed}{finest})"
    if masked_by:
        return f"masked ({masked_by})"
    if attribute.level:
        return f"{AT_LEVEL} {attribute.level} of its hierarchy"
    return "released as collected"


def _generalized(
    table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_], axis: int, finest: int
) -> dict[str, object]:
    hierarchy = table.hierarchies[axis]
    cells, records = generalization.cells[kept, axis], table.data.counts[kept]
    levels = released_levels(table, generalization.levels[kept, axis], cells, axis)
    per_level = np.bincount(levels, weights=records, minlength=hierarchy.n_levels)
    sizes = np.concatenate([hierarchy.sizes, table.safe_harbor[axis].extra_sizes])
    lost = np.log(sizes[cells]) / max(np.log(hierarchy.n_leaves), 1e-12)
    top = finest + hierarchy.n_levels - 1
    return {
        "levels": tuple(
            "as collected" if level == 0 else "withheld" if level == top else f"level {level}"
            for level in range(finest, top + 1)
        ),
        "groups_per_level": tuple(len(labels) for labels in hierarchy.labels),
        "records_per_level": tuple(int(count) for count in per_level),
        "groups_released": len(np.unique(cells)),
        "values_lost": None
        if finest
        else len(np.setdiff1d(table.data.codes[:, axis], [*cells[levels == 0], hierarchy.missing_leaf])),
        "information_kept": float(1.0 - records @ lost / records.sum()),
    }


def released_levels(table: CountIndex, generalization: Codes, cells: Codes, axis: int) -> Codes:
    """Level of each released group; a group that only Safe Harbor has counts as its covering level."""
    hierarchy = table.hierarchies[axis]
    own = cells < hierarchy.axis_length
    return np.where(own, hierarchy.axis_levels[np.where(own, cells, 0)], generalization)
