"""A copy beside the earlier ones held by the same party: each is read again, laid beside it, and judged with it.

An earlier copy that cannot be read or laid beside this one blocks. One that shares no people with this copy is ignored,
unless the values of its records are those of this one's, so that whoever has both can join them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flows.pipeline.run import Run
from flows.releases.delivered import read_delivered, read_kept
from flows.workspace.folders import Workspace
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ReleasegateError
from tasks.core.files import Artifact, checked
from tasks.dates.offsets import offset_scope
from tasks.decision.earlier_facts import ChangesFact, EarlierCopy, EarlierFact
from tasks.decision.record import DecisionRecord
from tasks.delivery.kept import Kept, Names, names_of
from tasks.delivery.verification import decision_path
from tasks.reassessment.changed_values import are_joined, changed_people, joining_columns, renamed
from tasks.reassessment.held_copies import HeldCopy, few_changed, judged_together, least_class, worst_of
from tasks.reassessment.pooling import by_more_attributes, copy_of, copy_of_candidate
from tasks.reassessment.population import TodaysPopulation
from tasks.reassessment.scoring import TodaysCopy
from tasks.request.load import request_of_bytes
from tasks.request.model import ReleaseRequest

_JOINED = (
    "no person has the same number in both, but values of {} join their records one by one, as if they "
    "were of the same people; give people the same numbers in both files, or withhold enough of these columns"
)


@dataclass(frozen=True)
class _Read:
    """An earlier copy as far as it could be read."""

    fact: EarlierCopy
    people: Names | None = None
    asked: ReleaseRequest | None = None
    """Its request."""
    held: HeldCopy | None = None
    changed: int = 0
    """Number of these people who have other released values in this copy."""
    as_others: HeldCopy | None = None
    """The copy with those people as others, whom this copy lacks."""
    offsets: str | None = None
    """Name of its offsets of dates; None where it shifts none and makes none relative."""


def compared(
    candidate: Candidate,
    run: Run,
    copies: Sequence[Mapping[str, str]],
    parties: Sequence[Sequence[str]],
    siblings: Sequence[Candidate],
) -> EarlierFact:
    """Findings on a copy beside others held by the same parties.

    `copies` and `parties` are those of ``copies_held``; `siblings` are copies of the same release in one of the
    parties.
    """
    request, prepared = candidate.request, candidate.prepared
    people = names_of(candidate.frame[request.person_id].iloc[candidate.rows], run.key)
    today = TodaysCopy(request, TodaysPopulation(prepared.hierarchies, prepared.population, prepared.register, {}, 0))
    ground, found = today.ground, list[_Read]()
    for copy in copies:
        earlier, kept = _found(run.workspace, copy, people)
        found.append(earlier)
        ground = ground if kept is None else by_more_attributes(ground, kept)
    read = [_laid(candidate, people, one, ground, run) for one in zip(found, copies, strict=True)]
    figures, closed = [], list[str]()
    least, few, revised, regrouped = least_class(request), False, False, False
    held: dict[str, HeldCopy] = {}
    for party in parties:
        inside = [one for one in read if one.fact.recipient in party]
        named = [one.people for one in inside if one.people is not None and one.fact.shares_people]
        few |= bool(named) and few_changed(people, named, least)
        others = [one.held for one in inside if one.held is not None]
        changed = [one.as_others for one in inside if one.as_others is not None]
        revised |= any(0 < one.changed < least for one in inside)
        beside = [one for one in siblings if one.recipient.id in party]
        closed += _shifted_otherwise(candidate, inside, beside)
        if others or beside:
            for one in (candidate, *beside):
                if one.recipient.id not in held:
                    held[one.recipient.id] = _to_leave(one, run.key, ground)
            others += [held[one.recipient.id] for one in beside]
            names = {one.name for one in changed}
            apart = [*(one for one in others if one.name not in names), *changed]
            for held_before in [others, apart] if changed else [others]:
                together, worse, narrowed = judged_together(held[candidate.recipient.id], held_before, today, ground)
                figures.append(together)
                closed += worse
                regrouped |= narrowed
    return EarlierFact(
        copies=tuple(one.fact for one in read),
        siblings=tuple(sorted(one.recipient.id for one in siblings)),
        hand=tuple(sorted({who for party in parties for who in party})),
        figures=worst_of(figures),
        closed=tuple(dict.fromkeys(closed)),
        least_class=least,
        few_changed=few,
        few_revised=revised,
        regrouped=regrouped,
        reason=_reason(request, [one.fact for one in read]),
    )


def _to_leave(candidate: Candidate, key_file: Path, ground: TodaysPopulation) -> HeldCopy:
    """A copy of the release that is being made."""
    request, recipient = candidate.request, candidate.recipient
    made = replace(candidate.generalization, own=candidate.own_cells)
    kept = replace(Kept.of(candidate, b"", key_file, None), generalization=made)
    decoyed = recipient.decoys is not None or request.continues is not None
    laid = copy_of_candidate(candidate, kept, ground)
    return HeldCopy(recipient.id, laid, recipient, request.policy, decoyed, is_released=False)


def _found(workspace: Workspace, copy: Mapping[str, str], people: Names) -> tuple[_Read, Kept | None]:
    """People of an earlier copy, and what was kept of it; None without people of this copy."""
    release, recipient = copy["release"], copy["recipient"]
    fact = EarlierCopy(release_id=release, recipient=recipient, shares_people=None)
    try:
        kept = read_kept(workspace, release, recipient)
    except ReleasegateError as error:
        return _Read(fact.model_copy(update={"cannot": error.in_one_line()})), None
    shares = bool(np.isin(kept.people, people).any())
    asked = request_of_bytes(kept.request, Path("request.yaml")).request
    return _Read(fact.model_copy(update={"shares_people": shares}), kept.people, asked), kept if shares else None


def _laid(
    candidate: Candidate, people: Names, earlier: tuple[_Read, Mapping[str, str]], ground: TodaysPopulation, run: Run
) -> _Read:
    """An earlier copy read, laid on the population of this one and compared with its values, if the two share people.

    `people` are the names of those of this one.
    """
    found, copy = earlier
    release, recipient, asked = copy["release"], copy["recipient"], found.asked
    if asked is None or not (found.fact.shares_people or joining_columns(candidate.request, asked)):
        return found
    workspace, memory = run.workspace, candidate.request.policy.generalization.memory_limit_mb * 2**20
    try:
        path = workspace.bundle(release) / decision_path(recipient)
        stored = checked(Artifact(path=str(path), sha256=copy["record_sha256"]))
        record = DecisionRecord.model_validate_json(stored.read_bytes())
        delivered = read_delivered(workspace, record, copy["output_sha256"])
        if not found.fact.shares_people:
            columns = joining_columns(candidate.request, asked)
            if not are_joined(candidate, delivered, columns):
                return found
            joined = {"shares_people": None, "cannot": _JOINED.format(", ".join(columns))}
            return replace(found, fact=found.fact.model_copy(update=joined))
        held = HeldCopy(
            f"{release[:12]} to {recipient}",
            copy_of(delivered, ground, memory),
            asked.recipient(recipient),
            asked.policy,
            record.decoys is not None,
        )
        offsets = offset_scope(asked, recipient) if asked.dated else None
        found = replace(found, held=held, offsets=offsets)
        changed = delivered.kept.people[changed_people(candidate, people, delivered, asked)]
        if not len(changed):
            return found
        names = renamed(held.laid.people, np.isin(held.laid.people, changed))
        as_others = replace(held, laid=replace(held.laid, people=names))
        return replace(found, changed=len(changed), as_others=as_others)
    except ReleasegateError as error:
        shares = found.fact.shares_people or None
        told = found.fact.model_copy(update={"shares_people": shares, "cannot": error.in_one_line()})
        return replace(found, fact=told)


def _shifted_otherwise(candidate: Candidate, earlier: Sequence[_Read], siblings: Sequence[Candidate]) -> Iterator[str]:
    """Copies held by one party that move the dates of the same people by other offsets, a sentence each."""
    request = candidate.request
    if not request.dated:
        return
    own = offset_scope(request, candidate.recipient.id)
    others = {one.held.name for one in earlier if one.held is not None and one.offsets not in (None, own)}
    others |= {one.recipient.id for one in siblings if offset_scope(request, one.recipient.id) != own}
    for name in sorted(others):
        yield f"Dates of the copy {name} are shifted otherwise: side by side, both copies narrow the true ones down."


def _reason(request: ReleaseRequest, copies: Sequence[EarlierCopy]) -> ChangesFact | None:
    """The reason that the request gives for few people added or removed; it is of the last copy of these people."""
    given = request.changes_since
    if given is None:
        return None
    of_these = [one.release_id for one in copies if one.shares_people]
    return ChangesFact(
        release=given.release,
        because=given.because,
        applies=bool(of_these) and of_these[-1] == given.release,
        reviewed=request.policy.review.required > 0,
    )
