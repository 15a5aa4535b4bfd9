"""Terminal output of ``releasegate assess``, method by method."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from scipy.special import expit

from flows.cli.tables import titled_table
from reports import numbers
from tasks.assessments.combined.combined_score import RecordScore
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.sequential.facts import AdversaryFact, DeterrentFact, SequentialFact
from tasks.generalization.table import KAnonymityOutcome

_TERMS = {
    "gain": "gain",
    "penalty": "penalty",
    "access_cost": "cost of access",
    "link_cost": "cost of linking",
    "exploit_cost": "cost of an attempt",
    "prior": "prior",
    "detection_intercept": "detection",
    "max_penalties": "penalties at most",
    "discount": "discount a step",
    "confirmation": "confirmation",
}
_DETERRENTS = {
    "penalty": "penalty",
    "access_cost": "cost of access",
    "exploit_cost": "cost of an attempt",
    "detection": "detection of an attempt",
}


def k_anonymity_tables(recoded: Sequence[tuple[str, KAnonymityOutcome]]) -> tuple[RenderableType, ...]:
    """Cost of k-anonymity to each method; nothing where the policy does not demand it."""
    if not recoded:
        return ()
    table = titled_table(
        "k-anonymity after each method: the node that loses least",
        ("method",),
        ("loss", "suppressed", "lifted", "counted"),
        f"loss by the metric {recoded[0][1].metric}, suppressed records included; counted: nodes of the lattice that "
        "were counted to prove the optimum",
    )
    table.add_column("least levels", overflow="fold")
    for method, one in recoded:
        table.add_row(
            method,
            _figure(one.value),
            f"{one.suppressed_records:,}",
            f"{one.lifted_records:,}",
            f"{one.nodes_evaluated:,} of {one.nodes_total:,}",
            ", ".join(f"{name} {level}" for name, level in one.levels.items()),
        )
    return (table,)


def sequential_tables(who: str, fact: SequentialFact) -> tuple[RenderableType, ...]:
    """Profile, risk before and after, thresholds, and what deters."""
    external = f"{fact.external.kind} of {fact.external.people:,} people listed: {fact.external.source}"
    profile = titled_table(f"{who}: a sequential adversary", ("term",), ("value",), f"external data: {external}")
    profile.add_column("from", overflow="fold")
    for name, title in _TERMS.items():
        profile.add_row(title, _term(fact.profile, name), fact.profile.origins[name])
    deterrents = titled_table(
        "What deters from attacking any record, each by itself", ("term",), ("now", "enough from")
    )
    for one in fact.deterrents:
        deterrents.add_row(_DETERRENTS[one.term], _figure(one.current), _enough(one))
    return (profile, _beliefs(fact), _thresholds(fact), deterrents)


def combined_tables(who: str, fact: CombinedFact, records: Sequence[RecordScore]) -> tuple[RenderableType, ...]:
    """Scores before and after, what makes them, and the records that score highest."""
    form = "exclusive form" if fact.exclusive else "paper's form"
    limit = "all" if fact.epsilon is None else f"known with more than {_figure(fact.epsilon)}"
    table = titled_table(
        f"{who}: identity and attributes in one score",
        ("",),
        ("highest", f"quantile {_figure(fact.quantile)}", "mean", f"above {_figure(fact.threshold)}"),
        f"{form}, α = {_figure(fact.alpha)}, {fact.known_sets:,} known sets ({limit})",
    )
    for name, score in (("before", fact.initial), ("after", fact.residual)):
        table.add_row(name, *map(_figure, (score.maximum, score.quantile, score.mean)), f"{score.share_above:.2%}")
    shares = titled_table("What makes the score after generalization", ("known", "sensitive"), ("share",), "")
    for part in fact.by_known_set[:5]:
        shares.add_row(_names(part.attributes), "", f"{part.share:.1%}")
    for part in fact.by_attribute[:5]:
        shares.add_row("", _names(part.attributes), f"{part.share:.1%}")
    return (table, shares, *_records(records))


def _term(profile: AdversaryFact, name: str) -> str:
    if name == "detection_intercept":
        first, second = expit([profile.detection_intercept, profile.detection_intercept + profile.detection_slope])
        return f"{first:.3g}" + (f", then {second:.3g}, …" if profile.detection_slope else "")
    if name == "max_penalties" and profile.max_penalties is None:
        return "no limit"
    return _figure(getattr(profile, name))


def _beliefs(fact: SequentialFact) -> Table:
    table = titled_table(
        "Risk of the records, before → after",
        ("", "the recipient's knowledge"),
        ("highest", "attempted %", "re-identified"),
        "→ judged by the gates: access is paid once for the whole file",
    )
    for before, after in zip(fact.initial, fact.residual, strict=True):
        table.add_row(
            "→" if after.belief == fact.judged else "",
            after.belief,
            f"{before.maximum_risk:.3g} → {after.maximum_risk:.3g}",
            f"{100 * before.attacked_share:.1f} → {100 * after.attacked_share:.1f}",
            f"{before.expected_reidentifications:,.0f} → {after.expected_reidentifications:,.0f}",
        )
    single = f"{fact.baseline_maximum:.3g}", f"{100 * fact.baseline_attacked_share:.1f}"
    table.add_row("", "one attempt a record", f"→ {single[0]}", f"→ {single[1]}", "", style="dim")
    return table


def _thresholds(fact: SequentialFact) -> Text:
    sizes = f"{fact.smallest_group:,} to {fact.largest_group:,}"
    lines = [
        f"Groups of the released records have {sizes} candidates in the external data.",
        f"Not worth access for one record: {_from(fact.threshold_known)}.",
        f"Not worth attacking once access is paid: {_from(fact.threshold_linked)}.",
    ]
    if fact.exhausted_below is not None and fact.exhausted_below > 1:
        lines.append(f"Below {fact.exhausted_below:,} every candidate is tried.")
    return Text("\n".join(lines))


def _from(size: int | None) -> str:
    return "no group is large enough" if size is None else f"groups of {size:,} or more"


def _enough(fact: DeterrentFact) -> str:
    """Value that is needed, rounded up: the printed value deters."""
    if fact.needed is None:
        return "no value is"
    if fact.needed == 0:
        return "0"
    return numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)


def _records(records: Sequence[RecordScore]) -> tuple[Table, ...]:
    if not records:
        return ()
    table = titled_table(
        "Records that score highest", (), ("rank", "row", "score"), "rows are counted from 1 in the file"
    )
    table.add_column("known, most of the score", overflow="fold")
    table.add_column("sensitive, most of the score", overflow="fold")
    for record in records:
        known, sensitive = (
            f"{_names(part.attributes)} ({part.share:.0%})" if part else "–"
            for part in (record.known_set, record.attribute)
        )
        table.add_row(f"{record.rank:,}", f"{record.row + 1:,}", _figure(record.score), known, sensitive)
    return (table,)


def _names(attributes: Sequence[str]) -> str:
    return ", ".join(attributes) or "nothing"


def _figure(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
