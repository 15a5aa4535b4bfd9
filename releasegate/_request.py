"""Requests from keywords, YAML or a file."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.request.load import LoadedRequest, load_request, request_of_bytes
from tasks.request.model import ReleaseRequest

_VERSION = "releasegate/request/1"
_NAME = Path("request")
"""Name in messages of a request that is in no file."""


def request(yaml: str | None = None, /, **terms: Any) -> ReleaseRequest:
    """A request from YAML, or from keywords.

    Parameters
    ----------
    yaml : str, optional
        The document; for the request of a file give ``check``, ``assess`` and ``release`` the file's path.
    **terms
        In place of the document, its parts by name: ``title``, ``dataset``, ``attributes``, ``recipients`` and so on.
        ``schema_version`` may be left out.

    Raises
    ------
    BadInput
        If it is not a valid request; the message has every mistake.
    """
    if (yaml is None) == (not terms):
        raise BadInput(
            "a request is made from YAML or from keywords",
            where="request",
            expected="one of the two",
            got="neither" if yaml is None else "both",
            fix="give the document alone, or its parts as keywords",
        )
    with guarded("request"):
        text = _written({"schema_version": _VERSION} | terms) if yaml is None else yaml
        return request_of_bytes(text.encode(), _NAME, (), enrolled_policy).request


def _written(terms: Mapping[str, Any]) -> str:
    try:
        return json.dumps(terms, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        raise BadInput(
            "the keywords are not terms of a request",
            where="request",
            expected="mappings, lists, texts, numbers and dates",
            got="an object of another kind",
            fix="write them as in YAML",
        ) from None


def loaded_request(
    request: str | Path | ReleaseRequest, folder: str | Path, roots: Sequence[str | Path]
) -> LoadedRequest:
    """A request with the folders that it names files in."""
    folders = [Path(root) for root in roots]
    if isinstance(request, str) and "\n" in request:
        raise BadInput(
            "this is YAML text, not a file",
            where="request",
            expected="the path of a file, or a request",
            got="text of several lines",
            fix="use releasegate.request(text)",
        )
    if not isinstance(request, ReleaseRequest):
        return load_request(Path(request), folders, enrolled_policy)
    sha256 = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
    base = Path(folder)
    return LoadedRequest(request, base / _NAME, base.resolve(), sha256, tuple(root.resolve() for root in folders))


def enrolled_policy(policy_id: str, version: str) -> Mapping[str, Any]:
    """The policy that a request names, from RELEASEGATE_WORKSPACE or the nearest workspace."""
    from flows.library.policies import PolicyShelf  # noqa: PLC0415  imports the ledger
    from flows.workspace.folders import nearest_workspace  # noqa: PLC0415

    named = os.environ.get("RELEASEGATE_WORKSPACE")
    place = Path(named) if named else nearest_workspace(Path.cwd()) or Path("workspace")
    return PolicyShelf(place)(policy_id, version)
