"""The sequential adversary (Xia et al. 2015): profile, risk by belief, thresholds and deterrents, with charts."""

from collections.abc import Iterator

from scipy.special import expit

from reports.model import numbers
from reports.model.document import DASH, Block, Heading, Paragraph, Row, Table, digest_text, said, strong, text
from reports.model.record_view import FileView
from reports.model.smallcell import HIDDEN
from reports.sections.sequential_charts import TERMS, group_chart, sensitivity_chart, unit, written
from tasks.assessments.sequential.facts import BeliefFact, DeterrentFact, SequentialFact
from tasks.request.model import PopulationBasis

_BELIEFS = {
    "known group": "Group size known; access paid for each record",
    "unknown group": "Group size guessed from frequency (eq. 6); access paid for each record",
    "access shared": "Access paid once for the whole file",
}


def sequential(view: FileView, fact: SequentialFact) -> Iterator[Block]:
    """The part of the section on risk."""
    yield (
        "A sequential adversary goes on for as long as it pays (Xia et al. 2015): pay for access to external data with "
        "names, link a record to the people there who match it, its candidates, exploit one candidate after another, "
        "and stop at any point. Each exploit costs, may be the right one (eq. 3) and may be detected and fined (eq. 2 "
        "and 4). A factored Markov decision process with eight variables was solved exactly for the plan that gains "
        "most; the risk is the probability that this plan ends in a re-identification (eq. 5). It can be higher than "
        "one over the number of candidates, because every candidate may be tried, and it is zero where no plan gains "
        "anything."
    )
    yield Table(
        "The recipient's profile; money in units of the stakes",
        "Symbol 8 | Meaning 46 | Value 16r | From 30",
        _profile_rows(fact),
    )
    source, people = fact.external.source, view.cells.count(fact.external.people)
    external = (
        f"No register is declared. The population itself, “{source}”, stands for the external data: by the prior, "
        f"{people} of its people are expected in them. A record's candidates are that share of the people of its "
        "group, rounded up and at least one."
    )
    if view.basis in {PopulationBasis.SAMPLE, PopulationBasis.TABLE_AND_FILE}:
        external += (
            " As a group may have more people than are counted, it is judged at whatever number of people, from there "
            "on, is worst; access counts as paid."
        )
    if fact.profile.resources:
        external = (
            f"The recipient may consult {_number_of_resources(fact)}, one after the other. Each tier lists a share of "
            f"the people of a group, of “{source}”, rounded up and at least one, who are equally likely to be the "
            "person. Group sizes are of people, not of candidates."
        )
    if fact.external.kind == "register":
        external = text(
            "The external data are a register, “{}”, which lists {} people (SHA-256 {}). A record's candidates are "
            "the people of its group whom the register lists.",
            source,
            people,
            digest_text(fact.external.sha256 or ""),
        )
    yield Paragraph(
        said(
            external,
            "The group of a record as collected are the people with the same values; that of a released record is the "
            "one that an informed recipient knows, the people whose own released cell it is.",
        )
    )
    if fact.profile.resources:
        yield _resources(fact)
        yield Paragraph(_reach(fact))
    after = fact.judged_in(fact.residual)
    baseline = numbers.risk(fact.baseline_maximum), DASH, view.share_out(fact.baseline_attacked_share), DASH, DASH
    yield Table(
        "Risk from a sequential adversary, before → after, by what is known of the group and how often access is paid",
        "Knowledge and access 23 | Highest risk 13p | Mean risk 17p | Records attacked 17p | Expected "
        "re-identifications 18p | Exploits per record 12p",
        [*_belief_rows(view, fact), ("Baseline: a single attempt, after generalization (eq. 7)", *baseline)],
    )
    coalitions = ", and what coalitions see (section E11.1)" if view.has_coalitions else ""
    yield Paragraph(
        said(
            f"The gates judge the row marked so{coalitions}: neither of the other two ways of knowing and paying gives "
            "a higher risk. “Exploits per record” are those expected if none succeeds, over all records of the file.",
            "The baseline attempts records that the plan does not attack because it does not discount what it gains."
            if fact.baseline_attacked_share > after.attacked_share or fact.baseline_maximum > after.maximum_risk
            else None,
        ),
        "note",
    )
    hidden = view.cells.hides(after.attacked_records) or view.cells.hides(view.released - after.attacked_records)
    if fact.expected_loss is not None:
        loss = HIDDEN if hidden else numbers.amount(fact.expected_loss)
        yield Paragraph(
            f"With the publisher's loss for each re-identification, the risk judged comes to an expected loss of "
            f"{loss} units of the stakes (eq. 1)."
        )
    yield Paragraph(threshold_text(view, fact))
    yield _patience(view, fact)
    if not fact.threshold_known == fact.threshold_linked == 1:
        yield group_chart(view, fact)
    yield Heading("Deterrents", 4)
    yield Table(
        "Deterrents: current value, and the least, rounded up, at which no record of this file is attacked, the "
        "others staying as they are",
        "Deterrent 38 | Unit 26 | Current 18r | Needed 18r",
        [_deterrent_row(one) for one in fact.deterrents],
    )
    yield (
        sensitivity_chart(view, fact)
        or "The smallest safe group is the same at every value of a term that was examined."
    )


def _number_of_resources(fact: SequentialFact) -> str:
    """Number of resources that the recipient consults, in words."""
    number = len(fact.profile.resources)
    return "one resource" if number == 1 else f"{numbers.integer(number)} resources"


def _resources(fact: SequentialFact) -> Table:
    rows: list[Row] = [
        (
            text(one.source),
            numbers.amount(one.access_cost) if first else DASH,
            numbers.percent(tier.people),
            numbers.risk(tier.prior),
        )
        for one in fact.profile.resources
        for first, tier in zip((True, *(False for _ in one.candidates)), one.candidates, strict=False)
    ]
    return Table(
        "External resources in the order in which they are consulted, with whom each adds; costs in units",
        "Resource 46 | Access 16r | People of a group 18r | Person among them 20r",
        rows,
    )


def _reach(fact: SequentialFact) -> str:
    reached, all_of_them = fact.resources_in_reach, len(fact.profile.resources)
    if reached == all_of_them:
        which = "Each of them may pay for the whole file"
    else:
        which = f"Of them the first {numbers.integer(reached)} may pay for the whole file, the others never"
    return (
        f"{which}: what it may bring, of all records together, exceeds its cost, even if nobody has been found before "
        "it. The risk judged is that from a recipient to whom access to these, but for the first, is free; it is an "
        "upper bound. Where each record's access is paid by itself, the risk is exact."
    )


def _profile_rows(fact: SequentialFact) -> list[Row]:
    profile, amount, risk = fact.profile, numbers.amount, numbers.risk
    first = risk(float(expit(profile.detection_intercept)))
    limit = "no limit" if profile.max_penalties is None else numbers.integer(profile.max_penalties)
    rows = (
        ("G", "gain from a right match", amount(profile.gain), "gain"),
        ("C_p", "penalty for a detected exploit", amount(profile.penalty), "penalty"),
        ("n_f", "penalties after which detection costs nothing more", limit, "max_penalties"),
        ("C_d", "cost of access to the external data", amount(profile.access_cost), "access_cost"),
        ("C_l", "cost of linking a record to them", amount(profile.link_cost), "link_cost"),
        ("C_e", "cost of an exploit", amount(profile.exploit_cost), "exploit_cost"),
        ("π", "probability that a person of the file is in the external data", risk(profile.prior), "prior"),
        (
            "h_0",
            f"detection of the first exploit: a probability of {first}",
            numbers.plain(profile.detection_intercept),
            "detection_intercept",
        ),
        (
            "h_1",
            "growth of detection with each further exploit",
            numbers.plain(profile.detection_slope),
            "detection_slope",
        ),
        ("γ", "worth of a unit one step later (discount)", risk(profile.discount), "discount"),
        ("κ", "probability that a right match is recognized", risk(profile.confirmation), "confirmation"),
    )
    return [
        (text(symbol), meaning, value, profile.origins.get(name, "not stated")) for symbol, meaning, value, name in rows
    ]


def _belief_rows(view: FileView, fact: SequentialFact) -> list[Row]:
    """Risk before and after by belief; a mean is hidden where a hidden number of attacked records would follow."""
    before = {one.belief: one for one in fact.initial}

    def shown(one: BeliefFact, total: int) -> tuple[str, ...]:
        mean, people, exploits = (
            numbers.risk(one.mean_risk),
            numbers.amount(one.expected_reidentifications),
            numbers.amount(one.expected_exploits),
        )
        if view.cells.hides(one.attacked_records) or view.cells.hides(total - one.attacked_records):
            mean = people = exploits = HIDDEN
        return numbers.risk(one.maximum_risk), mean, view.cells.share(one.attacked_share, total), people, exploits

    rows: list[Row] = []
    for after in fact.residual:
        if after.belief in before:
            pairs = zip(shown(before[after.belief], view.rows_in), shown(after, view.released), strict=True)
            row = (_BELIEFS[after.belief], *(f"{first} → {second}" for first, second in pairs))
            judged = after.belief == fact.judged
            rows.append((strong(f"{row[0]} (judged)"), strong(row[1]), *row[2:]) if judged else row)
    return rows


def _deterrent_row(fact: DeterrentFact) -> Row:
    """Present value of a term and the value it would need, rounded up, so that the printed value deters."""
    _, title, unit = TERMS[fact.term]
    needed = "no value deters"
    if fact.needed is not None:
        needed = numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)
        needed = strong(needed) if fact.needed > fact.current else needed
    return title, unit, written(fact.term, fact.current), needed


def _patience(view: FileView, fact: SequentialFact) -> Block:
    """P_reid over γ; figures from which a hidden number of attacked records would follow are hidden."""
    discounts = [one.discount for one in fact.patience]
    if discounts and not any(one.attacked_records for one in fact.patience):
        return (
            "No record is attacked whatever the patience of the recipient, for a discount γ (the worth of a unit one "
            f"attempt later) of {numbers.risk(min(discounts))} to {numbers.risk(max(discounts))}."
        )
    rows: list[Row] = []
    for one in fact.patience:
        hidden = view.cells.hides(one.attacked_records) or view.cells.hides(view.released - one.attacked_records)
        people = HIDDEN if hidden else numbers.amount(one.expected_reidentifications)
        safe = DASH if one.threshold_linked is None else numbers.integer(one.threshold_linked)
        own = one.discount == fact.profile.discount
        label = numbers.risk(one.discount)
        rows.append(
            (
                strong(f"{label} (here)") if own else label,
                numbers.risk(one.maximum_risk),
                view.cells.share(one.attacked_share, view.released),
                people,
                safe,
            )
        )
    return Table(
        "Risk after generalization by the patience of the recipient: γ is the worth of a unit one attempt later",
        "γ 20 | Highest risk 20r | Records attacked 20r | Expected re-identifications 20r | Safe from a group of 20r",
        rows,
    )


def threshold_text(view: FileView, fact: SequentialFact) -> str:
    """The group sizes at which the adversary gives up, and where the file's groups lie."""
    known, linked, below = fact.threshold_known, fact.threshold_linked, fact.exhausted_below
    if linked is None:
        before = "" if known is None else f"; before, a record is safe in a group of {numbers.integer(known)}"
        safe = f"No group size is safe once access to the external data is paid{before}."
    elif known is None:
        safe = f"Once access is paid, a record is safe from this recipient in a group of {numbers.integer(linked)}."
    elif known == linked == 1:
        safe = "In a group of any size a record is safe from this recipient, whether or not access has been paid."
    elif known == linked:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(linked)} "
            f"{unit(fact)}, whether or not access to the external data has been paid."
        )
    else:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(known)} "
            f"{unit(fact)} where access must be paid for that record alone, and {numbers.integer(linked)} once "
            "access is paid: a cost that is sunk deters no longer."
        )
    tried = "For every size examined, the adversary tries every candidate." if below is None else None
    if below is not None and below > 1:
        prior = numbers.risk(fact.profile.prior)
        risk = f", and the risk is the prior, {prior}" if fact.profile.confirmation == 1 else ""
        tried = f"In groups of fewer than {numbers.integer(below)}, every candidate is tried{risk}."
    after = fact.judged_in(fact.residual)
    attacked = f"{view.share_out(after.attacked_share)} of them are" if after.attacked_records else "none of them is"
    return said(
        safe,
        tried,
        f"The released records are in groups of {view.cells.count(fact.smallest_group)} to "
        f"{view.cells.count(fact.largest_group)} {unit(fact)}: {attacked} attacked.",
    )
