"""Making of the file: the game and its stakes, the method, budget, k-anonymity, hierarchies and maskings."""

from collections.abc import Iterator

from markupsafe import Markup

from reports.model import numbers
from reports.model.document import (
    Block,
    Heading,
    Paragraph,
    Row,
    Table,
    kept,
    lines,
    named,
    said,
    small,
    strong,
    text,
)
from reports.model.methods import masking_method, masking_parameters, method_text
from reports.model.record_view import FileView, RecordView
from reports.model.smallcell import HIDDEN
from reports.model.statements import basis_of_amounts
from tasks.assessments.identity.facts import BudgetFact, DivisionFact, KAnonymityFact, SharingFact
from tasks.core.plural import listed
from tasks.generalization.game.facts import BoundBy, LimitFact
from tasks.request.model import Method, Role

_FORMULA = Markup(
    "IL(g) = Σ<sub>f</sub> w<sub>f</sub> · ln |group of f at g|,&nbsp;&nbsp; v(g) = V · (1 − "
    "IL(g)/IL<sub>max</sub>)&nbsp;&nbsp; (eq. 1–3)<br>π(g) = 1/n<sub>p</sub>(g)&nbsp;&nbsp; (eq. 4)<br>an attempt is "
    "made where G · π(g) &gt; c, and none where they are equal"
)
_FIXED = {Method.SAFE_HARBOR: "Safe Harbor", Method.K_ANONYMITY: "optimal k-anonymity"}
_METRICS = {
    "precision": "mean height of generalization, 0 to 1 (Sweeney 2002)",
    "non-uniform entropy": "information lost, 0 to 1 (Gionis and Tassa 2007)",
    "discernibility": "squared sizes of the classes (Bayardo and Agrawal 2005)",
    "loss": "mean share of the domain that a released value stands for, 0 to 1 (Iyengar 2002)",
}
_LIMITS = {"attacked records": "Records worth attacking", "suppressed records": "Records suppressed"}


def method(view: RecordView) -> Iterator[Block]:
    """The section; it says so where nothing was generalized."""
    recipient, risk = view.record.recipient, view.record.risk
    benefit, loss, gain, cost = map(numbers.amount, (recipient.benefit, recipient.loss, recipient.gain, recipient.cost))
    if risk is None:
        yield (
            "No generalization was chosen and nothing was masked: the release stopped before (section E10). The stakes "
            f"that the request declares are a benefit of {benefit} units per record, a loss of {loss}, a gain of "
            f"{gain} and a cost of {cost} per attempt. {basis_of_amounts(recipient)}"
        )
        return
    game, words = risk.game, method_text(risk.game.method)
    moves = (
        "the publisher moves first and picks for each record a strategy, one level of generalization for each "
        "quasi-identifier; the recipient moves second and attempts a re-identification only where it pays."
    )
    if game.method in _FIXED:
        yield (
            f"Generalization follows {_FIXED[Method(game.method)]}. What is worth attacking, and what other methods "
            f"would have given, is judged by the re-identification game of Wan et al. (2015): {moves}"
        )
    else:
        yield (
            f"Generalization is chosen by the re-identification game of Wan et al. (2015): {moves} The publisher "
            "therefore picks the strategy that is best given the recipient's answer (a Stackelberg equilibrium)."
        )
    yield Paragraph(_FORMULA, "formula")
    yield Table(
        "Payoffs of a record (after Wan et al. 2015, Table 3, with the recipient's gain G apart from the loss L)",
        "Player 30 | No attempt 35 | Attempt 35",
        [("Publisher", "v(g)", "v(g) − L · π(g)"), ("Recipient", "0", "G · π(g) − c")],
    )
    yield Table(
        "Stakes, in units of one currency per record, as declared in the request",
        "Symbol 10 | Meaning 70 | Units 20r",
        [
            ("V", "publisher's benefit of a record in full detail", benefit),
            ("L", "publisher's loss when a record is re-identified", loss),
            ("G", "recipient's gain from a re-identified record (the paper sets G = L)", gain),
            ("c", "recipient's cost of an attempt", cost),
        ],
    )
    if game.adversary != "one-shot":
        yield (
            f"The recipient of this game is a sequential adversary ({game.adversary}): the single attempt is "
            "replaced by the plan of Xia et al. (2015), solved at the number of people of each cell, with the "
            "recipient's penalties, detection and costs. An attempt is made where the plan includes one, π is the "
            "probability that it re-identifies the record, and the recipient's payoff is the value of the plan."
        )
    if game.sharing:
        yield _sharing(view, game.sharing)
    yield Heading(words.title)
    yield text(f"{words.how} {words.promise}")
    by_people = game.cell_weights == "population"
    yield said(
        f"Records whose class in the released file would hold fewer than {numbers.integer(game.minimum_class_size)} "
        f"records are suppressed: {view.left_out[0]} of them."
        if game.minimum_class_size > 1
        else "The policy sets no minimum class size, and no record was suppressed on that account.",
        f"Cells are weighted by {'the people of the population' if by_people else 'the records of the file'} in them."
        if words.partitions
        else None,
        "Ties between strategies go to the first in lexicographic order of the levels, with a tolerance of 10⁻⁹.",
        _division(
            game.division,
            "record" if words.partitions and not by_people else "person of the population",
            after=bool(game.k_anonymity),
            whole=words.whole_cells,
        )
        if game.division
        else None,
    )
    if game.budget:
        yield from _budget(view, game.budget)
    if game.k_anonymity:
        yield from _k_anonymity(view, game.k_anonymity)
    yield Heading("Hierarchies")
    yield Table(
        "Levels of generalization, finest first, with the number of groups at each",
        "Attribute 16 | Weight w_f 12r | Levels (groups) 72",
        [
            (
                field.name,
                numbers.plain(game.weights[field.name]),
                "; ".join(
                    f"{level} ({numbers.integer(groups)})"
                    for level, groups in zip(field.levels, field.groups_per_level, strict=True)
                ),
            )
            for field in view.fields(Role.QUASI)
        ],
    )
    yield (
        f"The strategies form a lattice of {numbers.integer(game.lattice_nodes)} nodes. The people of every group at "
        f"every level were counted once, in a {game.cube_form} cube of {numbers.integer(game.cube_cells)} cells, and "
        f"the game was solved exactly for each of the {numbers.integer(game.distinct_tuples)} distinct combinations of "
        "quasi-identifier values in the file; nothing was sampled, so that no figure of the game has a sampling "
        "interval."
    )
    yield from masking(view)


def _sharing(view: RecordView, fact: SharingFact) -> str:
    types = sum(fact.recipients.values()) < 1.5
    who = "of whom exactly one is to receive it, each with its probability" if types else "who all receive it"
    price = ""
    if fact.price is not None:
        price = (
            f"; a representation for each would bring {numbers.amount(fact.shared + fact.price)}, so that sharing "
            f"costs {numbers.amount(fact.price)}"
        )
    return said(
        f"One representation was chosen for {numbers.integer(len(fact.recipients))} recipients {who}: the publisher's "
        "payoff counts the losses from all of them.",
        f"{'Expected' if types else 'Summed'} over them it is {numbers.amount(fact.shared)} units per record{price}."
        if not view.few_suppressed
        else None,
        "The decision, and the figures of this report, are on this recipient.",
    )


_BOUNDS = {
    BoundBy.BEST_CELLS: " The bound gives everybody the best cell that enough people match.",
    BoundBy.PRICES: " The bound is the sum of a price a person; no class is worth more than its people cost.",
}
"""Proofs of a bound of remainder classes, by name."""


def _division(fact: DivisionFact, weighed: str, *, after: bool, whole: bool) -> str:
    proof = "It is optimal: no division of the population of its kind pays more."
    if fact.exact:
        proof = "It is optimal: all recursive divisions were compared, and none pays more."
    elif fact.gap > 0 and fact.bound is not None:
        proof = (
            f"It is proven to be at most {numbers.amount_up(fact.gap)} units per {weighed} below the best: no "
            f"division of the population of its kind pays more than {numbers.amount_up(fact.bound)}."
        )
        proof += _BOUNDS[fact.bound_by] if fact.bound_by else ""
    before = ", before k-anonymity" if after else ""
    what, whom = ("partition", "who match") if whole else ("division into classes", "in each class")
    return f"The {what} pays {numbers.amount(fact.payoff)} units per {weighed} by the people {whom}{before}. {proof}"


def _budget(view: RecordView, fact: BudgetFact) -> Iterator[Block]:
    """The limits of a budget, their use, and its payoff; means are coarse where few records were suppressed."""
    game, words = view.risk.game, method_text(view.risk.game.method)
    by_people = words.partitions and game.cell_weights == "population"

    def payoff(value: float) -> str:
        coarse = view.mean_in(value, view.record.recipient.benefit, numbers.amount)
        return numbers.amount(value) if by_people else coarse

    def row(limit: LimitFact) -> Row:
        share = limit.limit / view.rows_in
        if limit.kept is not None:
            title = f"Least mean information kept of {limit.name.removeprefix('information lost of ')}"
            return title, numbers.percent(1 - share), view.mean_share(limit.kept)
        if limit.name in _LIMITS:
            return _LIMITS[limit.name], numbers.percent(share), view.share_in(limit.used / view.rows_in)
        return "Expected re-identifications", numbers.amount(limit.limit), numbers.amount(limit.used)

    yield Heading("Budget for the whole file")
    each = "person of the population" if by_people else "record"
    yield said(
        "The policy limits the file as a whole. The method does not give each record what is best for it alone, but "
        + ("one strategy to all" if words.common else "all records together what pays most")
        + f" within the limits: {payoff(fact.payoff)} units per {each} by the people who match.",
        f"No release of this kind within the limits can pay more than {numbers.amount_up(fact.bound)}."
        if (by_people or not view.few_suppressed) and fact.bound < view.record.recipient.benefit
        else None,
        f"Without the limits the method would pay {payoff(fact.without_budget)}."
        if fact.without_budget is not None
        else None,
        f"Every released cell is matched by at least {numbers.integer(fact.least_people)} people of the population."
        if fact.least_people
        else None,
        f"Every released cell has at least {numbers.integer(fact.least_records)} records."
        if fact.least_records and fact.least_records > 1
        else None,
        "The limits are kept as the method claims, by the people who match a cell. A recipient who knows the rule, the "
        "prices that the limits have in it and what the file holds can rule out some of them; all figures from an "
        "informed recipient are computed so."
        if not (words.partitions or words.common)
        else None,
    )
    if fact.limits:
        yield Table(
            "Limits of the whole file, as the method claims them",
            "Limit 50 | Allowed 25r | Used 25r",
            [row(limit) for limit in fact.limits],
        )


def _k_anonymity(view: RecordView, fact: KAnonymityFact) -> Iterator[Block]:
    """The demands, the levels that met them, and their loss; coarse where few records were suppressed or lifted."""
    after = view.risk.game.method != Method.K_ANONYMITY
    total_suppressed = view.risk.game.suppressed_records - (view.record.decoys.missing if view.record.decoys else 0)
    suppressed = view.left_out[0]
    if suppressed == numbers.integer(total_suppressed):
        suppressed = view.cells.part(fact.suppressed_records, total_suppressed)
    lifted = view.cells.part(fact.lifted_records, view.released)
    exact = (suppressed, lifted) == (numbers.integer(fact.suppressed_records), numbers.integer(fact.lifted_records))

    def loss(value: float) -> str:
        if fact.metric == "discernibility":
            return numbers.integer(round(value)) if exact else HIDDEN
        return numbers.risk(value) if exact else view.stepped_in(value)

    sought = "The combination of levels was sought that loses least"
    if after:
        sought = (
            "The policy requires more of the classes than the method gives. They were generalized further, for all "
            "records alike and never less than the method does, to the combination of levels that loses least"
        )
    local = ""
    if fact.local_recoding:
        local = (
            " Local recoding takes its place where it loses less: from the most specific cells on, every cell is "
            "released in which enough records are left to meet the demands, and they are taken out (remainder classes)."
        )
    counts = numbers.integer(fact.nodes_evaluated), numbers.integer(fact.nodes_total)
    yield Heading(f"k-anonymity{' after it' if after else ''}")
    yield (
        f"{sought} among all at which every remaining class has {'; '.join(fact.demands)}, and at most "
        f"{numbers.percent(fact.suppression_limit)} of the records are in other classes, which are suppressed. "
        f"No other loses less: {counts[0]} of {counts[1]} combinations were counted, and bounds rule out all others."
        f"{local}"
    )
    if after:
        chosen = [one.whole_cells for one in view.linkage.policies if one.chosen] if view.linkage else []
        yield text(
            "The statements above on the people in a cell hold for the method's own cells. Generalized further, {}",
            "they still do not overlap."
            if chosen == [True]
            else text(
                "cells may come to contain one another, so that a recipient who knows the rule can rule out people "
                "whose own cell is another: the effective group n_T can be smaller than the n_p people who match. It "
                "is never smaller than it was before, because people of one cell stay together. All figures from an "
                "informed recipient use n_T."
            ),
        )
    names = {field.name: field.levels for field in view.record.fields}
    levels = "; ".join(
        f"{name}: {names[name][level] if level < len(names.get(name, ())) else f'level {level}'}"
        for name, level in fact.levels.items()
    )
    local_gain = fact.value < fact.value_before_lifting
    yield Table(
        "k-anonymity: the levels chosen, and what they lose",
        "Property 34 | Result 66",
        kept(
            ("Least level of each attribute", levels),
            ("Measure of loss", f"{fact.metric}: {_METRICS[fact.metric]}"),
            ("Loss of the file, suppressed records included", loss(fact.value)),
            ("The same without local recoding", loss(fact.value_before_lifting)) if local_gain else None,
            ("Records suppressed by these demands", suppressed),
            ("Records released by local recoding", lifted) if fact.local_recoding else None,
        ),
    )


def masking(view: FileView) -> Iterator[Block]:
    """Masking of numbers; nothing where none were masked."""
    if not view.masking:
        return
    rows: list[Row] = []
    for fact in view.masking:
        words, parameters = masking_method(fact.method), masking_parameters(fact.method, fact.parameters)
        limits = kept(
            "rounded to whole numbers" if fact.rounded else None,
            "kept within the declared bounds" if fact.limited else None,
        )
        how = f"{words.title}: {parameters}" if parameters else words.title
        masked = small(f"masked values {listed(limits)}") if limits else ""
        rows.append((strong(", ".join(fact.attributes)), lines(how, masked), words.derived))
    yield Heading("Masking")
    yield (
        f"The values of {named(view.masked)} {'was' if len(view.masked) == 1 else 'were'} masked, alike for all "
        "recipients, so that averaging their copies gains nothing. Method and parameters count as known; what was "
        "drawn at random does not."
    )
    yield Table(
        "Masked attributes, and what a reader who knows the method can derive",
        "Attributes 20 | Method and parameters 32 | Derived from them 48",
        rows,
    )
