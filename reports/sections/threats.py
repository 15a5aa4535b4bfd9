"""Threat model, thresholds with their precedents, and the criteria of Opinion 05/2014 (WP216)."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Row, Table, lines, said, small, strong, text
from reports.model.record_view import RecordView
from reports.model.smallcell import SmallCellRule
from reports.sections.linkage import NO_INTERVAL, intruder, link_text, strongest
from tasks.assessments.attribute.facts import AttributeFact
from tasks.core.plural import plural
from tasks.decision.record import PopulationFact
from tasks.request.model import Measure, PopulationBasis, Role

_EXACT = "exact"
"""Counted over file and population, nothing estimated."""
_THE_FIELDS: tuple[Row, ...] = (
    (
        strong("Prosecutor"),
        "that a certain person is in the file",
        "that person's record",
        "1/F, F records of the file in the record's class (El Emam and Dankar 2008)",
    ),
    (
        strong("Journalist"),
        "the population, not who is in the file",
        "any one record whose person can be named",
        text(
            "1/n_p, n_p people of the population who match the class (El Emam and Dankar 2008; Wan et al. 2015, eq. 4)"
        ),
    ),
    (
        strong("Marketer"),
        "the population, not who is in the file",
        "as many correctly linked records as possible",
        "the mean of the journalist's risks: the expected share of correct links (Dankar and El Emam 2010)",
    ),
    (
        strong("Informed recipient"),
        "the population, the hierarchies, the rule and its parameters",
        "records worth attacking at cost c for gain G",
        text(
            "1/n_T, n_T people of the population whose own released cell is this one; attacked when G/n_T exceeds c "
            "(transparency: Torra 2017)"
        ),
    ),
)
"""Attackers who are always considered: knowledge, aim and risk of a record."""
_REGISTER = "a register with names"


def threats(view: RecordView) -> Iterator[Block]:
    """The attackers."""
    sequential, linkage = view.sequential, view.linkage
    rows = list(_THE_FIELDS)
    if sequential:
        names = _REGISTER if sequential.external.kind == "register" else "names for the population, by the prior"
        rows.append(
            (
                strong("Sequential adversary"),
                f"the same as the informed recipient, and {names}",
                "the greatest gain net of costs and penalties, by one exploit after another",
                "the probability that the best plan ends in a re-identification (Xia et al. 2015, eq. 5)",
            )
        )
    if linkage:
        rows.append(
            (
                strong("Linking intruder"),
                f"everybody's values of {', '.join(linkage.known)}; without the method, or with rule, maskings and "
                "parameters",
                "as many people as possible linked to their released record",
                "none per record: the share of people linked correctly (Torra 2016)",
            )
        )
    if view.combined:
        rows.append(
            (
                strong("Acquaintance"),
                "each attribute of a person with the probability that it is known",
                "the other attributes, weighed by their sensitivity",
                "a score of identity and attributes (Orooji and Knapp 2019)",
            )
        )
    if view.dates and view.dates.found:
        known = view.dates.known
        rows.append(
            (
                strong("Acquaintance with dates"),
                f"that a certain person is in the file, the class, and {plural(known, 'true date', 'true dates')}",
                "the rows whose dates can be these, moved by one possible number of days",
                "1/m, m people of the class who match the dates that fewest match",
            )
        )
    yield said(
        "The attackers below are considered. Prosecutor, journalist, marketer and recipients know the "
        f"quasi-identifiers ({view.names(Role.QUASI)}) of their targets exactly. The informed recipient is assumed in "
        "every determination because secrecy of the method is no protection: hierarchies are often published with the "
        "data, and the rule is in this program.",
        None if view.record.risk else "No attack was measured for this release.",
    )
    yield Table("Attackers", "Attacker 15 | Knows 26 | Seeks 24 | Risk of a record 35", rows)


def thresholds(view: RecordView) -> Iterator[Block]:
    """The policy's thresholds, and precedents for orientation."""
    policy = view.record.policy
    yield Table(
        f"Thresholds of policy “{policy.id}”, version {policy.version}",
        "Gate 34 | Threshold 20 | Precedent or reason 46",
        [
            (row.gate.title, lines(row.asked, small(row.unit)), row.gate.because)
            for row in view.gates
            if row.gate.comparison != "is"
        ],
    )
    gated = view.gate(Measure.COMBINED_MAXIMUM, Measure.COMBINED_QUANTILE, Measure.COMBINED_ABOVE)
    yield said(
        f"Risks above {numbers.risk(policy.risk_threshold)} are counted as over threshold throughout. Besides these "
        "thresholds every approval needs conditions that no policy can switch off: that validation passed, that the "
        "agreement is in force, that every stage finished, and that the risk recomputed from the written file matches "
        "the record.",
        "For the combined score (section E10.2) no precedent exists. The policy counts records above a score of "
        f"{numbers.risk(view.combined.threshold)}{'' if gated else ' and applies no gate to its figures'}."
        if view.combined
        else None,
    )
    yield (
        "Precedents for orientation: the European Medicines Agency (Policy 0070 and its external guidance) and Health "
        "Canada (Public Release of Clinical Information, 2019) accept a probability of re-identification of at most "
        "0.09 for data released to the public, one person in a group of eleven; the Centers for Medicare & Medicaid "
        "Services do not allow cells of 1 to 10. A release under an agreement may have a higher threshold than these."
    )


def criteria(view: RecordView) -> Iterator[Block]:
    """Singling out, linkability and inference."""
    yield (
        "The three criteria of the Article 29 Working Party (Opinion 05/2014, WP216). Each has the figure that bears "
        "on it most, before and after, beside the threshold of the policy, and states what it leaves open."
    )
    yield Table(
        "Criteria of WP216: initial → residual → threshold; estimates with their 95% interval",
        "Criterion and figure 36 | Before 14r | After 14r | Threshold 18 | Interval 18",
        groups=[_singling_out(view), _linkability(view), _inference(view)],
    )


def _criterion(title: str, assessed: str, finding: str, figure: tuple[str, ...]) -> list[Row]:
    """The rows of a criterion: the object of its figure, before, after, threshold and interval; and the finding."""
    name, before, after, threshold, interval = figure
    head = lines(text("**{}**, {}", title, assessed), small(name))
    return [(head, before, strong(after), threshold, interval), (finding,)]


def _singling_out(view: RecordView) -> list[Row]:
    risk, cells, fact, few = view.risk, view.cells, view.sequential, view.singling_out
    return _criterion(
        "Singling out",
        "assessed",
        said(
            f"The smallest class of the released file holds {cells.count(risk.residual.smallest_class)} records, the "
            f"smallest effective group {cells.count(risk.transparent.smallest_effective_group)} people of the "
            "population. A class of one singles a record out in the file; an effective group of one singles out a "
            "person.",
            "A sequential adversary tries candidates one by one where it pays: on "
            f"{view.share_out(fact.judged_in(fact.residual).attacked_share)} of the records."
            if fact
            else None,
            f"Some set of at most {numbers.integer(few.columns)} columns that may be known singles out "
            f"{cells.share(few.share, few.records)} of the records in the file; the set that singles out most is "
            f"estimated to do so to {cells.share(few.population_share, few.records)} in the population (section E10.4)."
            if few
            else None,
        ),
        (
            "highest risk of a record from an informed recipient, a probability",
            numbers.risk(risk.initial.journalist.maximum),
            numbers.risk(risk.transparent.maximum_risk),
            view.asked(Measure.TRANSPARENT_MAXIMUM),
            _EXACT,
        ),
    )


def _linkability(view: RecordView) -> list[Row]:
    """Links by the intruder of the record linkage; where none was made, those expected with the population."""
    risk, fact, sequential = view.risk, view.linkage, view.sequential
    attack = strongest(fact, "informed") if fact else None
    planned = linked = None
    figure = (
        "records expected to be linked with the population, a share (marketer)",
        numbers.percent(risk.initial.marketer),
        numbers.percent(risk.residual.marketer),
        "none set",
        _EXACT,
    )
    if sequential:
        what = _REGISTER if sequential.external.kind == "register" else "the population as external data"
        planned = (
            f"A sequential adversary who links records to {what} succeeds with a probability of at most "
            f"{numbers.risk(sequential.judged_in(sequential.residual).maximum_risk)}."
        )
    if fact and attack:
        shown = link_text(attack.figure, view.cells)
        who = intruder(view, fact)
        linked = f"{who[:1].upper()}{who[1:]}, and the method, links {shown.share} of the records."
        figure = (
            f"people linked by the strongest attack of {who}, a share",
            "not recorded" if fact.initial_share is None else view.share_in(fact.initial_share),
            shown.share,
            view.asked(Measure.LINKED_INFORMED),
            "not shown" if shown.interval == NO_INTERVAL else f"{shown.interval} (95%)",
        )
    finding = said(
        f"{_against(view.record.population)}, the journalist's highest risk is "
        f"{numbers.risk(risk.residual.journalist.maximum)} and the informed recipient's "
        f"{numbers.risk(risk.transparent.maximum_risk)}.",
        planned,
        linked,
        "Of other released files, the copies that recipients may pool with this one were linked to it."
        if view.has_coalitions
        else "Linking two released files to each other was not assessed.",
    )
    return _criterion("Linkability", "assessed in part", finding, figure)


def _against(population: PopulationFact) -> str:
    if population.basis is PopulationBasis.FILE:
        return "Against the file, which is its own population"
    if population.basis is PopulationBasis.SAMPLE:
        return "Against the people of the file, of whom no class has more than of the population's"
    return "Against the one population table of this document"


def _disclosed(cells: SmallCellRule, fact: AttributeFact) -> str:
    return cells.share(fact.disclosed_records / fact.records, fact.records)


def _inference(view: RecordView) -> list[Row]:
    """Inference is scored as far as a record has to be found first; what a class shares is counted beside it."""
    fact, cells, classes = view.combined, view.cells, view.attribute
    shared = said(
        "A class whose members share a sensitive value discloses that value without any identification.",
        f"Beyond what chance explains that is so of {_disclosed(cells, classes)} of the records (section E10.5)."
        if classes
        else "No figure in this document bounds that.",
        f"Sensitive columns released: {view.names(Role.SENSITIVE)}.",
    )
    if fact is None:
        return _criterion("Inference", "not assessed", shared, ("none was measured", *[DASH] * 4))
    before, after = fact.initial, fact.residual
    measure = Measure.COMBINED_MAXIMUM
    figure: tuple[str, ...] = (
        "highest combined score of a record",
        numbers.risk(before.maximum),
        numbers.risk(after.maximum),
    )
    if view.gate(Measure.COMBINED_QUANTILE):
        measure = Measure.COMBINED_QUANTILE
        within = f"combined score of {numbers.percent(fact.quantile)} of the records at most"
        figure = within, numbers.risk(before.quantile), numbers.risk(after.quantile)
    elif view.gate(Measure.COMBINED_ABOVE) and not view.gate(Measure.COMBINED_MAXIMUM):
        measure = Measure.COMBINED_ABOVE
        above = f"records with a combined score above {numbers.risk(fact.threshold)}, a share"
        figure = above, *(cells.share(one.share_above, one.records) for one in (before, after))
    finding = (
        f"The combined score weighs what finding a record would disclose: at most {numbers.risk(before.maximum)} "
        f"before and {numbers.risk(after.maximum)} after. {shared}"
    )
    return _criterion("Inference", "assessed in part", finding, (*figure, view.asked(measure), _EXACT))
