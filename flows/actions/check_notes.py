"""Notes of a check: terms without effect, and what the data or the population imply that an author may not expect."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from itertools import combinations

import pandas as pd

from reports.model.numbers import percent
from tasks.assessments.linkage.holdings import known_numbers
from tasks.assessments.text.facts import TextFact
from tasks.core.errors import ParameterError
from tasks.core.organisations import may_be_one_party
from tasks.decision.gates import agreement_gate
from tasks.masking.masked_columns import NOTHING_MASKED
from tasks.microdata.coded import Prepared, absent_values
from tasks.microdata.fit import misfits
from tasks.microdata.tables import own_rows
from tasks.redaction.columns import redacted
from tasks.request.column_names import POSTCODE_WORDS, name_words
from tasks.request.gate import ungated
from tasks.request.model import (
    DIVISIONS,
    NUMERIC,
    Measure,
    MissingReading,
    PopulationBasis,
    ReleaseRequest,
    Role,
    ValueType,
)
from tasks.request.unused import unused_terms
from tasks.validation.repeated_people import repeated_people
from tasks.validation.values import encode, nearly_numbers


def check_notes(request: ReleaseRequest, frame: pd.DataFrame, prepared: Prepared) -> Iterator[str]:
    """All notes on a request and its data; raises DataError where a text is not in the language stated."""
    yield from _people_notes(frame, request)
    yield from _party_notes(request)
    yield from _unreviewed_notes(request)
    yield from _gate_notes(request)
    yield from _text_notes(frame, request)
    yield from unused_terms(request)
    yield from absent_values(frame, request)
    yield from _numeral_notes(request, prepared)
    yield from _nearly_numbers_notes(request, frame)
    yield from _missing_notes(frame, request)
    yield from _population_notes(request, prepared)
    yield from _misfit_notes(prepared, request.population.lacks)
    yield from _class_notes(request, prepared)
    yield from _decoy_notes(request, frame)
    yield from _crowd_notes(request, prepared)


def unreviewed(request: ReleaseRequest) -> tuple[str, ...]:
    """Columns that nobody has reviewed, which are withheld."""
    return tuple(name for name, one in request.attributes.items() if one.role is Role.UNREVIEWED)


def account_notes(without: Sequence[str]) -> Iterator[str]:
    """Note on reviewers who cannot vote on the page."""
    if without:
        yield (
            f"reviewers without an account of the page: {', '.join(without)}; until they have one (releasegate account "
            "add), they vote with releasegate review"
        )


def expired_agreements(request: ReleaseRequest, today: date) -> tuple[str, ...]:
    """Recipients whose agreement is not in force on a day."""
    return tuple(one.id for one in request.recipients if not agreement_gate(one.agreement, today).passed)


def agreement_notes(expired: Sequence[str]) -> Iterator[str]:
    """Note on recipients whose agreement is not in force."""
    if expired:
        yield (
            f"the gate would block, because the agreement has expired: {', '.join(expired)}; renew it, and state its "
            "new last day in agreement.expires"
        )


def amount_notes(request: ReleaseRequest, frame: pd.DataFrame, failed: Collection[str]) -> Iterator[str]:
    """Note on withheld numbers that count as identifiers, where a released number that failed a scan equals them."""
    numbers = [name for name in request.outbound if name in failed and request.attributes[name].type in NUMERIC]
    for name in numbers:
        for other in request.withheld:
            one = request.attributes[other]
            if one.role is Role.WITHHELD and one.type is not ValueType.NUMBER and (frame[name] == frame[other]).any():
                yield (
                    f"{name} has values of {other}, which is withheld and so counts as an identifier; if {other} is an "
                    "amount or another quantity, which names nobody, give it type: number"
                )


def _party_notes(request: ReleaseRequest) -> Iterator[str]:
    """Notes on recipients whose copies are judged together, which an author may not expect of one agreement's id."""
    bound = {one.id: (one.organisation, one.agreement.id) for one in request.recipients}
    for one, other in combinations(bound, 2):
        if may_be_one_party(bound[one], bound[other]):
            yield (
                f"{one} and {other} count as one party, as they have one agreement or names that may be one "
                "organisation's: a release judges their copies together"
            )


def _unreviewed_notes(request: ReleaseRequest) -> Iterator[str]:
    if columns := unreviewed(request):
        yield f"withheld, because nobody has reviewed them: {', '.join(columns)}; give each a role to release it"


def _gate_notes(request: ReleaseRequest) -> Iterator[str]:
    if measures := ungated({one.measure.value for one in request.policy.gates}):
        yield (
            f"the policy replaces the default gates and has none on {', '.join(measures)}: what is found by these "
            "measures blocks nothing"
        )


def _text_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    """Gates on text that would close; raises DataError where a text is not in the language stated."""
    if not request.texts:
        return
    fact = redacted(frame, request).fact
    if isinstance(fact, TextFact):
        figures = {Measure.TEXT_MISSED: fact.missed, Measure.TEXT_RESIDUAL: fact.residual}
        for gate in request.policy.gates:
            if figures.get(gate.measure, 0.0) > gate.threshold:
                yield (
                    f"the gate on {gate.measure.value} would close on the text of {', '.join(request.texts)}: "
                    f"{figures[gate.measure]:.3g} measured, at most {gate.threshold:g} allowed"
                )


def _people_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    for one in repeated_people(frame, request):
        named = " with ".join(one.columns)
        yield (
            f"people have several rows, by {named}: {one.values:,} values in {one.records:,} records, and records with "
            "the same value agree in the quasi-identifiers; name the person of each row under dataset.person, by a "
            "column added to the file where none does"
            if one.is_certain
            else f"can a person have several rows? {named} has {one.values:,} values in {one.records:,} records, and "
            "records with the same value have the same quasi-identifiers: if so, name it under dataset.person, or "
            "groups of rows count as groups of people"
        )


def _numeral_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    if attacked := [name for name in known_numbers(request, prepared) if name in prepared.numerals]:
        yield (
            f"columns of text that hold numbers are attacked as numbers: {', '.join(attacked)}; state their "
            "type, or known_probability: 0 if nobody can know them"
        )


def _nearly_numbers_notes(request: ReleaseRequest, frame: pd.DataFrame) -> Iterator[str]:
    """Released columns of numbers in which a text or a negative code may mean “no value”."""
    for name, one in request.attributes.items():
        code = not POSTCODE_WORDS.isdisjoint(name_words(name))
        numeric = one.type in NUMERIC or "type" not in one.model_fields_set
        if name in request.released and numeric and not code:
            advice = nearly_numbers(encode(frame[name]))
            if advice:
                yield f"{name}: {advice}"


_READINGS = {
    (Role.QUASI, MissingReading.OWN_GROUP): "others may know whose records lack a value, so these records hide only "
    "among each other, or among all records where the attribute is generalized to the top",
    (Role.QUASI, MissingReading.ANY_VALUE): "such a record may belong to anybody with its other values, provided "
    "that nobody outside knows whose records lack one",
    (Role.SENSITIVE, MissingReading.OWN_GROUP): "a missing value counts as a value of its own",
    (Role.SENSITIVE, MissingReading.ANY_VALUE): "a missing value adds no diversity to a class, and what the class "
    "discloses counts as disclosed about that person too",
}


def _missing_notes(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[str]:
    """Shares of the records or rows in which columns are missing, and the meaning of their reading, by role."""
    policy = request.policy.missing
    counted = "records" if request.dataset.person is None else "rows"
    for role, term, reading in (
        (Role.QUASI, "quasi_identifiers", policy.quasi_identifiers),
        (Role.SENSITIVE, "sensitive", policy.sensitive),
    ):
        columns = [name for name, one in request.attributes.items() if one.role is role]
        shares = {name: float(frame[name].iloc[own_rows(frame, request, name)].isna().mean()) for name in columns}
        if missing := ", ".join(f"{name} {share:.2%}" for name, share in shares.items() if share):
            meaning = _READINGS[role, reading]
            yield f"missing in the {counted}: {missing}; {meaning} (policy.missing.{term}: {reading.value})"


def _misfit_notes(prepared: Prepared, lacks: Collection[str]) -> Iterator[str]:
    for column, share in misfits(prepared.data, prepared.population, prepared.hierarchies).items():
        if column in lacks:
            continue
        yield (
            f"{column} is distributed differently in the population: at least {share:.0%} of the records would need "
            "a different value"
        )


def _population_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    """Consequences of a population without a table of all quasi-identifiers."""
    population, records = request.population, prepared.data.total
    if population.basis is PopulationBasis.FILE:
        yield (
            f"the file is its own population of {records:,} people, and others know who is in it: the people of a "
            "class are its records. If the file is a sample of more people, state population.size in place of self"
        )
    elif population.basis is PopulationBasis.SAMPLE:
        people = population.people(records) or records
        yield (
            f"the file is assumed to be a random sample of {percent(records / people)} of {people:,} people. Gates "
            "judge the records of a class as its people, which are no more than in the population; only "
            "estimated.maximum_risk, estimated.mean_risk, estimated.unique_share and singling_out.population_share "
            "rest on the size and on the sample being random"
        )
    elif population.lacks:
        yield (
            f"the population table lacks {', '.join(population.lacks)}: released classes that reveal one of these are "
            "counted in the file; the others, in the table"
        )


def _class_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    """Note on a gate on the prosecutor risk that nothing in the policy keeps open, with the term that does."""
    terms = request.policy.generalization
    least = request.policy.fewest_passing(Measure.PROSECUTOR_MAXIMUM)
    if least <= request.fewest_records:
        return
    term = f"k_anonymity: {{k: {least}, local_recoding: true}}"
    if not all(tree.is_tree for tree in prepared.hierarchies.values()):
        term = f"minimum_class_size: {least}"
    elif terms.k_anonymity is not None:
        term = f"k_anonymity.k: {least}"
    elif request.methods <= DIVISIONS and terms.collusion is None:
        term = f"budget: {{least_records: {least}, suppression: 0.02}}"
    yield (
        f"the gate on {Measure.PROSECUTOR_MAXIMUM.value} blocks classes of fewer than {least:,} records, and no term "
        f"of policy.generalization keeps them out: add “{term}” there, or set “presence: unknown” and remove that gate "
        "if nobody can know who is in the file"
    )


def _decoy_notes(request: ReleaseRequest, frame: pd.DataFrame) -> Iterator[str]:
    """Notes on why recipients might not get the required decoys, as far as they show without generalizing."""
    if not any(recipient.decoys for recipient in request.recipients):
        return
    from tasks.decoys.records import outbound_columns, refuse_own_values  # noqa: PLC0415  imports scikit-learn
    from tasks.decoys.stage import refuse_repeated_identifiers  # noqa: PLC0415

    try:
        refuse_own_values(outbound_columns(frame, request, NOTHING_MASKED))
        refuse_repeated_identifiers(frame, request)
    except ParameterError as error:
        yield f"recipients who are to have decoys will be blocked: {error.in_one_line()}"


def _crowd_notes(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    if not any(recipient.decoys for recipient in request.recipients):
        return
    from tasks.decoys.scarcity import crowded_copies  # noqa: PLC0415  imports scikit-learn

    for one in crowded_copies(request, prepared):
        yield (
            f"the smallest class of a copy ({', '.join(one.recipients)}) links to about {one.people:,} people. A "
            f"decoy needs a cell without records, and only one in {round(1 / max(one.empty, 1e-9)):,} cells of that "
            "size has none: decoys in such copies, and in finer ones beside them, are likely to be too few, or "
            "detected. “assess decoys” measures this; allow smaller classes, or release to these recipients separately"
        )
