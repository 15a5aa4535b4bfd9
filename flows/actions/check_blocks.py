"""The result of a check as blocks of the document model, for terminal and notebook."""

from collections.abc import Iterator

from flows.actions.checking import CheckedRequest
from reports.model.blocks import table
from reports.model.document import Block, text
from tasks.assessments.linkage.holdings import known_attributes
from tasks.core.plural import plural
from tasks.microdata.coded import Prepared, knowable_columns
from tasks.request.model import PARAMETER_OF, Attribute, PopulationBasis, ReleaseRequest
from tasks.request.public_key import fingerprint, kind_of


def check_blocks(checked: CheckedRequest) -> Iterator[Block]:
    """Columns, records, and what would block the release."""
    request, prepared, validation = checked.loaded.request, checked.prepared, checked.validation
    columns = (
        (name, _role(one), one.type.value, f"{prepared.distinct_values[name]:,}", _levels(prepared, name, one))
        for name, one in request.attributes.items()
    )
    yield from table("", ("column", "role", "type", ">distinct", "hierarchy"), columns)
    persons, n_rows = request.dataset.person, len(prepared.tuple_of_row)
    counted = "records" if persons is None else f"people, named by {persons}, with {n_rows:,} rows"
    if request.tables:
        counted += f" in {len(request.tables) + 1} tables"
    yield (
        f"\n{prepared.data.total:,} {counted} in {len(prepared.data):,} distinct quasi-identifier tuples; "
        f"{_hidden_among(request, prepared)}"
    )
    for masking in request.masking:
        parameter = f"{PARAMETER_OF[masking.method]} = {masking.strength:g}"
        yield f"masked: {', '.join(masking.attributes)} by {masking.method.value}, {parameter}"
    yield from (f"decoys: {one.decoys.classes:,} classes for {one.id}" for one in request.recipients if one.decoys)
    for one in request.recipients:
        if one.encrypt_to:
            keys = ", ".join(f"{kind_of(key)} {fingerprint(key)}" for key in one.encrypt_to)
            yield f"encrypted: {request.format_for(one).value} for {one.id} to {keys}"
    yield from _known(request, prepared)
    yield ""
    failed = [one for one in validation.checks if not one.passed]
    cross = '<span class="failed">✗</span> {}: {}: not so for {:,} of {:,}{}'
    for found in failed:
        rows = ", ".join(str(row + 1) for row in checked.positions.get(found.id, ())[:5])
        where = f", rows {rows}" if rows else ""
        yield text(cross, found.column or "table", found.expectation, found.failed, found.checked, where)
    number, (mark, style) = len(validation.checks), ("✗", "failed") if failed else ("✓", "passed")
    passed = f'<span class="{style}">{mark}</span> {{}} of {{}} checks passed; a release measures the risk'
    yield text(passed, number - len(failed), number)
    if checked.missing_reviewers:
        more = plural(checked.missing_reviewers, "more reviewer")
        cross = (
            '<span class="failed">✗</span> policy.review: {} needed besides the requester: name them under reviewers'
        )
        yield text(cross, f"{more} {'is' if checked.missing_reviewers == 1 else 'are'}")
    for who in checked.expired:
        yield text('<span class="failed">✗</span> {}: the agreement has expired', who)
    for column in checked.columns.unplaced:
        yield text('<span class="failed">✗</span> {}', column.advice)


def _hidden_among(request: ReleaseRequest, prepared: Prepared) -> str:
    """The people among whom records hide, beside the population that the file is a sample of."""
    population, counted = request.population, f"{prepared.people:,} people"
    if population.basis is not PopulationBasis.SAMPLE:
        return f"population of {counted}"
    known = ", since others can know who is in it" if request.policy.presence == "known" else ""
    return f"records hide among the file's {counted}{known}; it is a sample of {population.people(prepared.people):,}"


def _known(request: ReleaseRequest, prepared: Prepared) -> Iterator[str]:
    """Columns that an attacker is assumed to know, or perhaps to, and those of rows; the term that says otherwise."""
    known = known_attributes(request, prepared)
    yield f"assumed known to an attacker: {', '.join(known)}"
    perhaps, rows = [name for name in knowable_columns(request) if name not in known], request.known_events
    if rows:
        yield f"and, of {request.policy.events.rows_in_words} of a person: {', '.join(rows)}"
    if perhaps:
        yield f"perhaps known: {', '.join(perhaps)}"
    if perhaps or rows:
        yield "(“known_probability: 0” states that nobody outside can know a column.)"


def _role(attribute: Attribute) -> str:
    return attribute.role.value + (" of rows" if attribute.of == "row" else "")


def _levels(prepared: Prepared, name: str, attribute: Attribute) -> str:
    """Sizes of the levels of an attribute's hierarchy that may leave."""
    tree = prepared.hierarchies.get(name)
    if tree is None:
        return ""
    sizes = " → ".join(str(len(level)) for level in tree.labels)
    from_level = f"from level {attribute.level}: " if attribute.level else ""
    return from_level + sizes + ("" if tree.is_tree else ", levels cross")
