"""Bodies of the entries that verification reads back; one place for their keys.

==============  ==========================================  ============================================
event           body                                        read by
==============  ==========================================  ============================================
``decided``     ``decision``, ``reasons``,                  ``tasks.delivery.bundle.verify_bundle``:
                ``record_sha256``                           the bundle's ``decision/<recipient>.json``
``released``    ``output_sha256``                           ``verify_bundle``: ``delivery/<recipient>/``
``published``   ``manifest_sha256``                         ``verify_bundle`` and ``recover``: the bundle
==============  ==========================================  ============================================

``decided`` and ``released`` carry a recipient, ``published`` concerns the whole release and carries none. For one
release, ``decided`` precedes ``published``; ``released`` and ``published`` are written in one transaction, after
the bundle is sealed and before it is moved. Bodies of other events are the writer's choice.
"""

from tasks.decision.record import DecisionRecord, digest


def decided(record: DecisionRecord) -> dict[str, object]:
    """Body of ``decided``: the verdict, its reasons, and the digest of the record's canonical bytes."""
    return {
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "record_sha256": digest(record),
    }


def released(output_sha256: str) -> dict[str, object]:
    """Body of ``released``: the SHA-256 of the data file that the recipient gets."""
    return {"output_sha256": output_sha256}


def published(manifest_sha256: str) -> dict[str, object]:
    """Body of ``published``: the SHA-256 of the bundle's ``manifest.json``."""
    return {"manifest_sha256": manifest_sha256}
