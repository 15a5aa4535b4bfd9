"""Bodies of the entries that verification reads back; one place for their keys.

==============  ==========================================  ============================================
event           body                                        read by
==============  ==========================================  ============================================
``decided``     ``decision``, ``reasons``,                  ``tasks.delivery.bundle.verify_bundle``:
                ``record_sha256``                           the bundle's ``decision/<recipient>.json``
                ``determined``                              ``tasks.audit``; entries of old lack it
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
``signed``      ``record_sha256``, ``report_sha256``,       ``tasks.delivery.signed``: ``signed/``;
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

from tasks.core.canonical import digest
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


def released(output_sha256: str, delivered_sha256: str | None = None) -> dict[str, object]:
    """Body of ``released``: the SHA-256 of the clear data file and, where that is encrypted, of what is delivered."""
    encrypted = delivered_sha256 is not None and delivered_sha256 != output_sha256
    return {"output_sha256": output_sha256, **({"delivered_sha256": delivered_sha256} if encrypted else {})}


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


def released_after_review(
    output_sha256: str,
    *,
    manifest_sha256: str,
    certificate_sha256: str,
    approval_sha256: str,
    delivered_sha256: str | None = None,
) -> dict[str, object]:
    """Body of ``released`` after reviews: the data file, and all that comes into the published bundle with it."""
    return {
        **released(output_sha256, delivered_sha256),
        "manifest_sha256": manifest_sha256,
        "certificate_sha256": certificate_sha256,
        "approval_sha256": approval_sha256,
    }


def signed(  # noqa: PLR0917
    record_sha256: str, report_sha256: str, signed_sha256: str, certificate_sha256: str, subject: str, by: str | None
) -> dict[str, object]:
    """Body of ``signed``: the decision, its report, the signed PDF, whose certificate, and who signed for the ledger.

    The certificate's subject is the expert; `by` is the person who submitted the signature, as a policy or a
    registered key names them. They need not be the same person.
    """
    body: dict[str, object] = {
        "record_sha256": record_sha256,
        "report_sha256": report_sha256,
        "signed_sha256": signed_sha256,
        "certificate_sha256": certificate_sha256,
        "subject": subject,
    }
    return body if by is None else {**body, "by": by}


def revoked(by: str, role: WorkflowRole, reason: str) -> dict[str, object]:
    """Body of ``revoked``: who took the release back, in which role, and why."""
    return {"by": by, "role": role.value, "reason": reason}


def overridden(by: str, reason: str) -> dict[str, object]:
    """Body of ``overridden`` that puts a rejected release before its reviewers again: the officer, and why."""
    return {"by": by, "reason": reason}


def gates_overridden(  # noqa: PLR0917
    by: str, reason: str, record: DecisionRecord, record_sha256: str, gates: Sequence[GateResult], valid_until: date
) -> dict[str, object]:
    """Body of ``overridden`` for gates: the officer, why, the record that was seen, and each figure with its threshold.

    `record` is that of the blocked release.
    """
    return {
        "by": by,
        "reason": reason,
        "blocked_record_sha256": record_sha256,
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


def reassessed(  # noqa: PLR0917
    record_sha256: str,
    verdict: str,
    before: str,
    reassessment_sha256: str | None,
    gates: Sequence[str],
    because: Sequence[str],
    due: date,
    next_due: date,
    *,
    repeated: bool,
) -> dict[str, object]:
    """Body of ``reassessed``: the verdict on a delivered copy, and that of the re-assessment before.

    Parameters
    ----------
    record_sha256 : str
        Of the decision.
    verdict, before : str
        Today's, and that of the re-assessment before; the first one follows on the decision.
    reassessment_sha256 : str or None
        Of the record of the re-assessment; None where nothing could be read that one could be made of.
    gates : sequence of str
        Ids of the gates that are not as they were when the release was decided.
    because : sequence of str
        Reasons, a sentence each.
    due, next_due : date
        The last day for this one, and for the next.
    repeated : bool
        Whether nothing has changed since a re-assessment whose record is there already.
    """
    return {
        "record_sha256": record_sha256,
        "verdict": verdict,
        "before": before,
        "reassessment_sha256": reassessment_sha256,
        "gates": list(gates),
        "because": [text[:_LONGEST_REASON] for text in because[:_MOST_REASONS]],
        "due": due.isoformat(),
        "next_due": next_due.isoformat(),
        "repeated": repeated,
    }
