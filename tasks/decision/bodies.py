"""Bodies of the entries that verification reads back; one place for their keys.

==============  ==========================================  ============================================
event           body                                        read by
==============  ==========================================  ============================================
``decided``     ``decision``, ``reasons``,                  ``tasks.delivery.bundle.verify_bundle``:
                ``record_sha256``                           the bundle's ``decision/<recipient>.json``
                ``determined``                              ``tasks.audit``
``released``    ``output_sha256``; if it is encrypted,      ``verify_bundle``: ``delivery/<recipient>/``
                ``delivered_sha256``
``published``   ``manifest_sha256``                         ``verify_bundle`` and ``recover``: the bundle
``voted``       ``reviewer``, ``record_sha256``,            ``tasks.decision.standing``
                ``commitment``
``reviewed``    ``reviewer``, ``vote``, ``reason``,         ``standing``: against the commitment
                ``nonce``
``approved``,   ``record_sha256``                           ``standing``
``rejected``
``released``    as above and ``manifest_sha256``,           ``verify_bundle``: what came after ``published``
after review    ``certificate_sha256``,                     into ``delivery/``, ``certificate/`` and
                ``approval_sha256``                         ``approval/``
``signed``      ``record_sha256``, ``report_sha256``,       ``verify_bundle``: ``signed/``;
                ``signed_sha256``,                          ``tasks.ledger.chain``
                ``certificate_sha256``, ``subject``, and
                ``by`` where a person is named
``revoked``     ``by``, ``role``, ``reason``                ``standing``
``overridden``  ``by``, ``reason``                          ``standing``
``overridden``  as above and ``blocked_record_sha256``,     ``tasks.decision.overrides``: what the same
of gates        ``inputs``, ``valid_until``, ``gates``      inputs may be released with
``expired``     ``valid_until``                             ``standing``
``superseded``  ``by_release``                              ``standing``
``reassessed``  ``record_sha256``, ``verdict``, ``before``  ``flows.reassessing`` and ``tasks.audit``
                ``reassessment_sha256``, ``gates``,
                ``because``, ``due``, ``next_due``,
                ``repeated``
==============  ==========================================  ============================================

All carry a recipient but ``published``, which concerns the whole release. For one release, ``decided`` precedes
``published``; ``released`` and ``published`` are written in one transaction, after the bundle is sealed and before it
is moved. The last ``voted``, every ``reviewed``, ``approved`` and ``released`` are one transaction too. Bodies of other
events are the writer's choice.
"""

from collections.abc import Sequence
from datetime import date

from pydantic import Field

from tasks.core.canonical import digest
from tasks.core.fact import Fact
from tasks.core.people import WorkflowRole
from tasks.decision.kept import kept_decision
from tasks.decision.record import DecisionRecord, GateResult
from tasks.decision.votes import Ballot

_MOST_REASONS = 40
_LONGEST_REASON = 1000


def decided(record: DecisionRecord) -> dict[str, object]:
    """Body of ``decided``: the verdict, its reasons, the digest of the record's canonical bytes, and what is kept."""
    return {
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "record_sha256": digest(record),
        "inputs": record.of_inputs,
        "overrides": list(record.overrides),
        "supersedes": record.supersedes,
        "determined": kept_decision(record).model_dump(mode="json", exclude_none=True),
    }


def released(output_sha256: str, delivered_sha256: str | None = None, **after_review: str) -> dict[str, object]:
    """Body of ``released``: the SHA-256 of the clear data file and, where that is encrypted, of what is delivered.

    After reviews it also has ``manifest_sha256``, ``certificate_sha256`` and ``approval_sha256``, of all that joins
    the published bundle with the file.
    """
    encrypted = delivered_sha256 not in (None, output_sha256)
    return {
        "output_sha256": output_sha256,
        **({"delivered_sha256": delivered_sha256} if encrypted else {}),
        **after_review,
    }


def published(manifest_sha256: str) -> dict[str, object]:
    """Body of ``published``: the SHA-256 of the bundle's ``manifest.json``."""
    return {"manifest_sha256": manifest_sha256}


def voted(ballot: Ballot) -> dict[str, object]:
    """Body of ``voted``: who, on what, and the commitment; not the vote."""
    return {"reviewer": ballot.reviewer, "record_sha256": ballot.record_sha256, "commitment": ballot.commitment}


def reviewed(ballot: Ballot) -> dict[str, object]:
    """Body of ``reviewed``: the vote, and the nonce with which anyone can check it against its commitment."""
    return {"reviewer": ballot.reviewer, "vote": ballot.vote, "reason": ballot.reason, "nonce": ballot.nonce}


def outcome(record_sha256: str) -> dict[str, object]:
    """Body of ``approved`` and ``rejected``: the record that was voted on."""
    return {"record_sha256": record_sha256}


def signed(*, by: str | None, **signature: str) -> dict[str, object]:
    """Body of ``signed``: the decision, its report, the signed PDF, whose certificate, and who signed for the ledger.

    Parameters
    ----------
    by : str or None
        The person who submitted the signature, as a policy or a registered key names them; need not be the expert.
    **signature : str
        ``record_sha256``, ``report_sha256``, ``signed_sha256``, ``certificate_sha256``, and ``subject``, the
        certificate's: the expert.
    """
    return {**signature} if by is None else {**signature, "by": by}


def revoked(by: str, role: WorkflowRole, reason: str) -> dict[str, object]:
    """Body of ``revoked``: who took the release back, in which role, and why."""
    return {"by": by, "role": role.value, "reason": reason}


def overridden(by: str, reason: str) -> dict[str, object]:
    """Body of ``overridden`` that puts a rejected release before its reviewers again: the officer, and why."""
    return {"by": by, "reason": reason}


def gates_overridden(
    by: str, reason: str, record: DecisionRecord, gates: Sequence[GateResult], valid_until: date
) -> dict[str, object]:
    """Body of ``overridden`` for gates: the officer, why, the record that was seen, and each figure with its threshold.

    `record` is that of the blocked release.
    """
    return {
        "by": by,
        "reason": reason,
        "blocked_record_sha256": digest(record),
        "inputs": record.of_inputs,
        "valid_until": valid_until.isoformat(),
        "gates": [
            gate.model_dump(mode="json", include={"id", "title", "unit", "measured", "comparison", "threshold"})
            for gate in gates
        ],
    }


def superseded(by_release: str) -> dict[str, object]:
    """Body of ``superseded``: the release that took its place."""
    return {"by_release": by_release}


def expired(valid_until: date) -> dict[str, object]:
    """Body of ``expired``: the last day that has passed."""
    return {"valid_until": valid_until.isoformat()}


class ReassessedBody(Fact):
    """Body of ``reassessed``: the verdict on a delivered copy, and that of the re-assessment before."""

    record_sha256: str = Field(description="Of the decision.")
    verdict: str
    before: str = Field(description="Verdict of the re-assessment before; the first one follows on the decision.")
    reassessment_sha256: str | None = Field(description="Of the re-assessment's record; None where none could be made.")
    gates: tuple[str, ...] = Field(description="Gates that are not as they were when the release was decided.")
    because: tuple[str, ...] = Field(description="Reasons, a sentence each.")
    due: date = Field(description="The last day for this one.")
    next_due: date
    repeated: bool = Field(description="Whether nothing has changed since a re-assessment whose record is there.")


def reassessed(body: ReassessedBody) -> dict[str, object]:
    """Body of ``reassessed``, its reasons cut to what an entry may hold."""
    reasons = [text[:_LONGEST_REASON] for text in body.because[:_MOST_REASONS]]
    return {**body.model_dump(mode="json"), "because": reasons}
