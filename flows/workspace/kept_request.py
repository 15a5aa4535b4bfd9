"""Requests as they were decided on, sealed, so that a decision can be explained once its request is edited.

A request may hold values of the data in its hierarchies and weights, so that no copy of it lies in the clear.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken

from flows.workspace.folders import Workspace
from tasks.core.files import write_whole
from tasks.core.seed import derive_seed


def keep_request(workspace: Workspace, sha256: str, content: bytes) -> None:
    """Keep a request of some SHA-256, if it is not kept yet."""
    if not workspace.request(sha256).is_file():
        write_whole(workspace.request(sha256), _cipher(workspace, sha256).encrypt(content))


def kept_request(workspace: Workspace, sha256: str) -> bytes | None:
    """The request of some SHA-256; None where it is not kept, or was sealed under another key."""
    try:
        return _cipher(workspace, sha256).decrypt(workspace.request(sha256).read_bytes())
    except (OSError, InvalidToken):
        return None


def _cipher(workspace: Workspace, sha256: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derive_seed(workspace.key_file, sha256, "kept requests")))
