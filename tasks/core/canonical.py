"""The one byte form of a document, which hashes and signatures are computed over."""

import hashlib
import json

from pydantic import BaseModel


def canonical_json(document: object) -> bytes:
    """The canonical bytes of a document: JSON in UTF-8, sorted keys, no spaces, a line feed; no NaN or infinity."""
    if isinstance(document, BaseModel):
        document = document.model_dump(mode="json")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def digest(document: object) -> str:
    """SHA-256 of a document's canonical bytes."""
    return hashlib.sha256(canonical_json(document)).hexdigest()
