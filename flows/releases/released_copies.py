"""Released copies and their holders, by the ledger alone.

Copies are held by one party if they went to one recipient, to recipients whose organisations may be one by their names
or who are bound by one agreement, or to recipients who are assumed to share theirs. The keyed names kept with two
copies show whether they are of the same people; so does the ledger where data have the same SHA-256, or where one
release continues or supersedes the other or names it among the recipient's earlier ones.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks.core.errors import StageFailed
from tasks.core.organisations import Signatory, may_be_one_party
from tasks.decision.record import DecisionRecord
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.request.model import Recipient, ReleaseRequest

Party = frozenset[str]
"""Ids of the recipients who form one party."""
SharingRecipients = Sequence[Sequence[str]]
"""Sets of ids of recipients who are assumed to share their copies."""


@dataclass(frozen=True)
class ReleasedCopy:
    """A copy that was released."""

    release_id: str
    recipient: str
    released: Entry
    """The ledger entry of its release."""

    @property
    def name(self) -> str:
        """Release and recipient in one."""
        return f"{self.release_id}/{self.recipient}"


class ReleasedCopies:
    """Every copy that was released, by the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._asked = {str(one.release_id): one.body for one in ledger.entries(event=Event.REQUESTED)}
        self._decided: Mapping[tuple[str, str], Mapping[str, Any]] = {
            (str(one.release_id), str(one.recipient)): one.body for one in ledger.entries(event=Event.DECIDED)
        }
        found = {(str(one.release_id), str(one.recipient)): one for one in ledger.entries(event=Event.RELEASED)}
        self.copies = tuple(ReleasedCopy(release, recipient, entry) for (release, recipient), entry in found.items())
        """Copies in the order of release; one that was released twice, as after an override, counts once."""
        revoked = {(str(one.release_id), str(one.recipient)) for one in ledger.entries(event=Event.REVOKED)}
        self.held = tuple(one for one in self.copies if (one.release_id, one.recipient) not in revoked)
        """Copies that were not revoked. Recipients still hold superseded and expired ones."""

    def one_party(self, recipients: Iterable[str], *bound: Signatory) -> frozenset[str]:
        """Ids of the recipients who form one party with some, and may be of their organisations; those among them."""
        ids = frozenset(recipients)
        known = {*bound, *(self._signatory(one) for one in self.copies if one.recipient in ids)}
        return ids | {
            one.recipient for one in self.copies if any(may_be_one_party(self._signatory(one), each) for each in known)
        }

    def parties(
        self, request: ReleaseRequest, recipient: Recipient, together: SharingRecipients | None = None
    ) -> tuple[Party, ...]:
        """Parties that a recipient's copy goes to: its own, those that pool copies, those assumed to share theirs.

        `together` are recipients who are assumed to share, of the request's policy where not given.
        """
        bound = {one.id: (one.organisation, one.agreement.id) for one in (*request.recipients, recipient)}
        mine = bound[recipient.id]
        own = self.one_party((one for one, other in bound.items() if may_be_one_party(other, mine)), mine)
        pooling = [frozenset(one.id for one in members) for members in request.coalitions(recipient)]
        named = request.policy.reassessment.together if together is None else together
        sharing = [frozenset(one) for one in named if own & set(one)]
        shared = []
        for members in (*pooling, *sharing):
            ids = own | members
            for one in sorted(members):
                ids |= self.one_party([one], *([bound[one]] if one in bound else []))
            shared.append(ids)
        return (own, *shared)

    def members(self, request: ReleaseRequest, recipient: Recipient) -> Party:
        """Ids of the recipients of all parties that a recipient's copy goes to."""
        return frozenset[str]().union(*self.parties(request, recipient))

    def of_the_same_people(self, copy: ReleasedCopy) -> tuple[ReleasedCopy, ...]:
        """Other released copies of the same people, as far as is known."""
        found, waiting = {copy.release_id}, [copy.release_id]
        while waiting:
            for other in self._edges[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        return tuple(one for one in self.held if one.release_id in found and one.name != copy.name)

    def record_sha256(self, copy: ReleasedCopy) -> str:
        """SHA-256 of the decision record by which a copy was released."""
        return str(self._decided[copy.release_id, copy.recipient]["record_sha256"])

    def _signatory(self, copy: ReleasedCopy) -> Signatory:
        kept = self._decided[copy.release_id, copy.recipient]["determined"]
        return str(kept["organisation"]), str(kept["agreement"]["id"])

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        """The releases that each release is connected with directly."""
        edges: dict[str, set[str]] = {one.release_id: set() for one in self.copies}
        first_of_data: dict[object, str] = {}
        for copy in self.copies:
            own, decided = copy.release_id, self._decided[copy.release_id, copy.recipient]
            asked = self._asked[own]
            named = {asked.get("continues"), decided["supersedes"], *decided["determined"]["prior_release_ids"]}
            named.add(first_of_data.setdefault(asked["dataset_sha256"], own))
            for other in named & edges.keys() - {own}:
                edges[own].add(other)
                edges[other].add(own)
        return edges


def copies_held(ledger: Ledger, request: ReleaseRequest, release_id: str) -> dict[str, dict[str, Any]]:
    """Other copies of the parties that each recipient's copy goes to, as JSON; recipients without any are left out.

    Each of the earlier `copies` has `release`, `recipient`, the sequence of the `entry` of its release, and the SHA-256
    of its record and of its clear file; `parties` are lists of ids of recipients, and `siblings` those of them who get
    a copy of the same release.
    """
    if not ledger.entries(event=Event.RELEASED) and len(request.recipients) == 1:
        return {}
    departures, found = ReleasedCopies(ledger), {}
    for recipient in request.recipients:
        parties, pooling = departures.parties(request, recipient), len(request.coalitions(recipient))
        earlier = [one for one in departures.held if one.release_id != release_id]
        others = request.ids - {recipient.id}
        # Copies of one release that are pooled by its own terms are judged with these, if there are no earlier ones.
        judged = [
            party
            for place, party in enumerate(parties)
            if any(one.recipient in party for one in earlier) or (party & others and not 1 <= place <= pooling)
        ]
        if judged:
            members = frozenset[str]().union(*judged)
            found[recipient.id] = {
                "copies": [
                    {
                        "release": one.release_id,
                        "recipient": one.recipient,
                        "entry": one.released.sequence,
                        "record_sha256": departures.record_sha256(one),
                        "output_sha256": str(one.released.body["output_sha256"]),
                    }
                    for one in earlier
                    if one.recipient in members
                ],
                "parties": [sorted(one) for one in dict.fromkeys(judged)],
                "siblings": sorted(members & others),
            }
    return found


class HeldCopiesChanged(StageFailed):
    """Another copy was released to the same party since a release was compared with earlier ones."""


def check_hand(ledger: Ledger, record: DecisionRecord, request: ReleaseRequest) -> None:
    """Refuse a copy if another one was released to the same party since the comparison.

    Call it within the transaction that records its release. Raises HeldCopiesChanged if there is such a copy.
    """
    known = {one.name for one in record.earlier.copies} if record.earlier else set()
    departures = ReleasedCopies(ledger)
    party = departures.members(request, request.recipient(record.recipient.id))
    further = [
        one
        for one in departures.held
        if one.recipient in party and one.release_id != record.release_id and one.name not in known
    ]
    if further:
        asked = ledger.entries(release_id=record.release_id, event=Event.REQUESTED)[-1]
        raise HeldCopiesChanged(
            "another copy was delivered to the same party in the meantime",
            where=f"release {record.release_id[:12]} to {record.recipient.id}",
            expected="the earlier copies that it was judged with, and no other",
            got=f"release {further[0].release_id[:12]} to {further[0].recipient} as well",
            fix="have the same request decided again, together with that copy: "
            + shlex.join(["releasegate", "release", str(asked.body["request_path"])]),
        )
