"""Then and today: gates in pairs, differences, and the verdict on a copy that was released.

A verdict is one of three. A gate that is closed today is named whatever else could not be measured. What could not be
measured closes no gate and opens none: it is a verdict of its own, which has to be reported, and condemns nothing.
Pure; nothing here measures anything or reads a clock.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tasks.assessments.identity.uncertainty_facts import ChanceFact, UncertaintyFact
from tasks.core.canonical import digest
from tasks.decision.gates import judge_gates
from tasks.decision.measures import OF_ALL_RECORDS, write_result, write_share
from tasks.decision.record import CodeFact, DecisionRecord, GateResult
from tasks.decision.veil import count, downward, upward
from tasks.decision.verdict import is_excused
from tasks.reassessment.record import Again, Cause, CoalitionAgain, GateAgain, RequestFrom
from tasks.request.model import Measure, Policy, Recipient, ReleaseRequest

_AS_KEPT: Mapping[RequestFrom, str] = {
    "kept, none there": "The request is not where it lay",
    "kept, another of other data": "Today's request is of other quasi-identifiers or record ids",
}


def gates_again(
    then: Sequence[GateResult], now: Sequence[GateResult], unmeasured: Collection[str] = ()
) -> tuple[GateAgain, ...]:
    """Gates of then and of today in pairs; those of today first, in their order.

    Parameters
    ----------
    then, now : sequence of GateResult
    unmeasured : collection of str
        Gates of today whose figures could not be had for want of something that they rest on; not closed, not judged.
    """
    before = {gate.id: gate for gate in then}
    after = {gate.id: gate for gate in now}
    both = [_pair(before.get(gate.id), gate, gate.id in unmeasured) for gate in now]
    return (*both, *(_pair(gate, None, True) for gate in then if gate.id not in after))


def _pair(then: GateResult | None, now: GateResult | None, unmeasured: bool) -> GateAgain:
    known = now or then
    if known is None:
        raise ValueError("a pair of no gates")
    return GateAgain(
        id=known.id,
        title=known.title,
        unit=known.unit,
        comparison=known.comparison,
        measured_then=None if then is None else then.measured,
        threshold_then=None if then is None else then.threshold,
        open_then=None if then is None else is_open(then),
        measured=None if now is None else now.measured,
        threshold=None if now is None else now.threshold,
        open=None if now is None or unmeasured else is_open(now),
        overridden=now is not None and is_excused(now),
        because="" if now is None else now.because,
    )


def is_open(gate: GateResult) -> bool:
    """Whether a gate has passed, or an officer answers for it."""
    return gate.passed or is_excused(gate)


def judged_alone(
    policy: Policy, figures: Mapping[Measure, float], conditions: Sequence[GateResult], *, decoyed: bool
) -> tuple[tuple[GateResult, ...], tuple[str, ...]]:
    """Gates on figures of the file's bytes alone, and which of them could not be measured.

    Parameters
    ----------
    policy : Policy
    figures : mapping of Measure to float
    conditions : sequence of GateResult
        Gates that need no figure.
    decoyed : bool
        Whether figures are rounded as those of a copy with decoys.
    """
    results = [rounded(gate) if decoyed else gate for gate in judge_gates(policy.gates, figures)]
    return (*conditions, *results), tuple(gate.id for gate in results if gate.measured is None)


def rounded(gate: GateResult) -> GateResult:
    """A gate whose figure reveals nothing of how many of a copy's records are decoys; it stays as open as it is."""
    if gate.measured is None or gate.comparison == "is":
        return gate
    at_most = gate.comparison == "at most"
    figure = upward(gate.measured) if at_most else downward(gate.measured)
    holds = figure <= gate.threshold if at_most else figure >= gate.threshold
    return gate.model_copy(update={"measured": figure if holds or not gate.passed else gate.threshold})


def told_count(number: int, *, decoyed: bool) -> int:
    """A number of records, rounded where it would reveal how many of a copy's are decoys."""
    return count(number) if decoyed else number


def verdict_of(
    gates: Iterable[GateAgain], coalitions: Iterable[CoalitionAgain], not_measured: Collection[object]
) -> Again:
    """Verdict on a copy: the worst of the findings on it."""
    judged = [one for one in coalitions if one.judged]
    every = [*gates, *(gate for one in judged for gate in one.gates)]
    if any(gate.open is False for gate in every):
        return Again.BLOCKED
    unjudged = any(gate.threshold is not None and gate.open is None for gate in every)
    if unjudged or not_measured or any(one.cannot for one in judged):
        return Again.CANNOT
    return Again.HOLDS


def chances(then: ChanceFact | None, now: UncertaintyFact | None) -> str:
    """Probability that the gates that depend on uncertain terms pass, today and then; empty without any."""
    if now is None:
        return ""
    before = "all terms were taken for certain" if then is None else _passing(then)
    return f"Gates that depend on uncertain terms pass: today {_passing(now.approved)}; when it was released, {before}."


def _passing(chance: ChanceFact) -> str:
    if chance.draws == 1:
        return f"{'even' if chance.count else 'not'} where the terms are worst within their ranges"
    return f"with probability {write_share(chance.value)} ({write_share(chance.low)} to {write_share(chance.high)})"


def causes(
    record: DecisionRecord,
    *,
    then: ReleaseRequest,
    now: ReleaseRequest,
    population: tuple[str, int] | None,
    code: Mapping[str, object],
    dataset_sha256: str | None,
    external: tuple[str | None, str | None],
    origin: RequestFrom,
    further: Sequence[str],
    in_force: bool,
) -> tuple[Cause, ...]:
    """Differences from the time when a release was decided, in words.

    Parameters
    ----------
    record : DecisionRecord
        Of the release.
    then, now : ReleaseRequest
        The request as it was, and as it is judged today.
    population : (str, int) or None
        SHA-256 of today's population, and its people; None where it could not be read.
    code : mapping
        The program of today.
    dataset_sha256 : str or None
        Of the data in the place of the originals; None where there are none.
    external : pair of str or None
        SHA-256 of the external register, then and today; None without one.
    origin : RequestFrom
        Where the request of today is from.
    further : sequence of str
        Releases of the same people to the same recipient, or to those who are taken to share with it.
    in_force : bool
        Whether the agreement is in force.
    """
    found: list[Cause] = []
    if origin in _AS_KEPT:
        found.append(Cause(kind="request", text=f"{_AS_KEPT[origin]}: what is not named otherwise is that of then."))
    if population is not None and population[0] != record.population.sha256:
        found.append(Cause(kind="population", text=_people(record.population.people, population[1])))
    if digest(then.policy) != digest(now.policy):
        found.append(Cause(kind="policy", text=_policy(then.policy, now.policy)))
    whom = now.recipients[0]
    sharing = [one for one, _ in now.sharing(whom) if one.id != whom.id]
    prices = (_prices(then.recipient(one.id), one, shares=one is not whom) for one in (whom, *sharing))
    found.extend(Cause(kind="prices", text=text) for text in prices if text)
    if external[0] != external[1]:
        found.append(Cause(kind="register", text="The external register is another than when the release was decided."))
    if code != record.code.model_dump(mode="json"):
        found.append(Cause(kind="code", text=_code(record.code, code)))
    if dataset_sha256 != record.dataset.source_sha256:
        text = "are gone" if dataset_sha256 is None else "have changed"
        found.append(Cause(kind="data", text=f"The original data {text}: what needs them is not measured."))
    if not in_force:
        found.append(Cause(kind="agreement", text=f"The agreement {now.recipients[0].agreement.id} has ended."))
    found.extend(
        Cause(kind="further release", text=f"Another release of the same people is out: {release[:12]}.")
        for release in further
    )
    return tuple(found)


def _code(then: CodeFact, now: Mapping[str, object]) -> str:
    named, before = f"{now['version']} ({_commit(str(now['commit']))})", f"{then.version} ({_commit(then.commit)})"
    if named == before:
        return f"The program, version {named}, rests on other libraries than before."
    return f"The program is another: version {named}, before {before}."


def _commit(name: str) -> str:
    """A commit, and what distinguishes sources that are not those of one (``flows.identity.code_fact``)."""
    head, _, modified = name.partition("+modified.")
    return f"{head[:16] if head.startswith('sources.') else head[:12]}{f', changed {modified[:8]}' if modified else ''}"


def _people(before: int, now: int) -> str:
    if before == now:
        return "The population has changed; it has as many people as before."
    return f"The population has {'grown' if now > before else 'shrunk'} from {before:,} to {now:,} people."


def _policy(then: Policy, now: Policy) -> str:
    parts = [
        name
        for name in Policy.model_fields
        if name not in ("id", "version") and getattr(then, name) != getattr(now, name)
    ]
    named = f"{now.id} {now.version}"
    other = f"The policy is {named} now, before {then.id} {then.version}"
    if named == f"{then.id} {then.version}":
        other = f"The policy {named} reads otherwise than before"
    return f"{other}{'' if not parts else ' (' + ', '.join(parts) + ')'}."


def _prices(then: Recipient, now: Recipient, *, shares: bool) -> str:
    """Terms on which an attack pays or not."""
    changed = [
        f"{part}.{name}"
        for part in ("stakes", "agreement", "adversary", "uncertain")
        for name in sorted(_fields(then, part) | _fields(now, part))
        if name not in ("id", "expires") and _term(then, part, name) != _term(now, part, name)
    ]
    whom = f"{now.id}, who has the same representation," if shares else "the recipient"
    return f"Terms of {whom} are others: {', '.join(changed)}." if changed else ""


def _fields(recipient: Recipient, part: str) -> set[str]:
    value = getattr(recipient, part)
    return set() if value is None else set(type(value).model_fields)


def _term(recipient: Recipient, part: str, name: str) -> object:
    return getattr(getattr(recipient, part), name, None)


def reasons(
    verdict: Again,
    gates: Sequence[GateAgain],
    coalitions: Sequence[CoalitionAgain],
    not_measured: Sequence[str],
    causes_found: Sequence[Cause],
    *,
    records: int | None = None,
    collected: int | None = None,
    small_cell: int = 11,
    chance: str = "",
) -> tuple[str, ...]:
    """Why a copy is said to hold or not, a sentence each: the gates that have closed, then what lies behind it.

    Parameters
    ----------
    records, collected : int, optional
        Rows released, and records that came in: the totals of shares, so that no share reveals a small number of
        people.
    chance : str
        How probable it is that gates pass which depend on uncertain terms, where that is not as it was.
    """
    told = [
        _closed(gate, "", collected if gate.id in OF_ALL_RECORDS else records, small_cell)
        for gate in gates
        if gate.open is False
    ]
    judged = [one for one in coalitions if one.judged]
    for one in judged:
        number = f"{len(one.releases)} pooled {'release' if len(one.releases) == 1 else 'releases'}"
        who = f" of {number} ({', '.join(one.recipients)})"
        told += [_closed(gate, who, records, small_cell) for gate in one.gates if gate.open is False]
        if one.cannot:
            told.append(f"Releases to {', '.join(one.recipients)} could not be pooled: {one.cannot}.")
    told += [f"Not measured: {text}" for text in not_measured]
    if verdict is Again.HOLDS:
        changed = sum(gate.figure_changed for gate in gates)
        told.append(
            "Every gate is open, and every figure is that of the release."
            if not changed
            else f"Every gate is open; {changed} of {len(gates)} figures are others than when it was released."
        )
        told += [
            f"They stay open for whoever has what went to {', '.join(one.recipients)}: {len(one.releases)} releases."
            for one in judged
            if one.gates
        ]
    return (*told, *((chance,) if chance else ()), *(cause.text for cause in causes_found))


def _closed(gate: GateAgain, of: str, records: int | None, small_cell: int) -> str:
    if gate.comparison == "is" or gate.threshold is None:
        return f"{gate.title}{of}: no. {gate.because}".strip()
    figure, threshold = _written(gate, gate.measured, gate.threshold, records, small_cell)
    sentence = f"{gate.title}{of}: {figure}; {threshold} allowed"
    if gate.threshold_then is None:
        return f"{sentence}; no gate when it was released."
    if gate.threshold != gate.threshold_then:
        before = _written(gate, gate.measured_then, gate.threshold_then, records, small_cell)
        return f"{sentence}. When it was released: {before[0]}; {before[1]} allowed."
    if gate.measured_then is None:
        return f"{sentence}."
    before_now = _written(gate, gate.measured_then, gate.threshold, records, small_cell)[0]
    return f"{sentence}. When it was released: {before_now}."


def _written(
    gate: GateAgain, measured: float | None, threshold: float, records: int | None, small_cell: int
) -> tuple[str, str]:
    result = GateResult(
        id=gate.id,
        title=gate.title,
        unit=gate.unit,
        measured=measured,
        comparison=gate.comparison,
        threshold=threshold,
        passed=False,
        because="",
    )
    return write_result(result, records=records, small_cell=small_cell)
