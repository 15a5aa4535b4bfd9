"""Every assessment of one recipient's copy of a frame; nothing is written."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.assessments.assessment import Effort, Finding
from tasks.assessments.registry import ASSESSMENTS
from tasks.candidate.candidate import CandidateSource
from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.microdata.prepared import prepare
from tasks.microdata.read import frame_as_text
from tasks.redaction.recall import redacted
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Recipient, ReleaseRequest


def assess(
    frame: pd.DataFrame,
    request: str | Path | ReleaseRequest,
    recipient: str | None = None,
    *,
    folder: str | Path = ".",
    roots: Sequence[str | Path] = (),
    compare: bool = True,
    seed: int = 0,
) -> dict[str, Finding[Any]]:
    """What every assessment finds in one recipient's copy of a frame, by the assessment's name.

    The frame is masked and generalized as the request demands, without decoys, validation or gates, and nothing is
    written. Masking and samples are drawn from ``seed``; a release draws them from its workspace's key.

    Parameters
    ----------
    frame : DataFrame of shape (n_records, n_attributes)
        The microdata: the columns of the request, as text or of any type that can be written as such.
    request : str, Path or Request
        The request, or the YAML file that holds it. Its population and hierarchies are read, its dataset is not. A
        file may name an enrolled policy, of the workspace RELEASEGATE_WORKSPACE or the nearest.
    recipient : str, optional
        Id of the recipient; may be left out where the request has one.
    folder : str or Path
        Folder that a ``Request`` names its files from; a file names them from its own.
    roots : sequence of str or Path
        Further folders that the request may name files in.
    compare : bool
        Whether other generalizations are measured beside the copy's own, which takes longer.
    seed : int
        Of masking and samples.

    Returns
    -------
    dict of str to Finding
        ``fact``, as in the decision record, and ``measures``, as gates judge them.

    Raises
    ------
    BadInput
        If the request, the frame, a file or the recipient cannot be used.
    StageFailed
        If the frame cannot be generalized as demanded, or an assessment cannot be made.
    """

    def randomness(purpose: str) -> np.random.Generator:
        return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed}\0{purpose}".encode()).digest()))

    with guarded("assessment"):
        loaded = _loaded(request, Path(folder), [Path(root) for root in roots])
        whom = _recipient(loaded.request, recipient)
        text = frame_as_text(frame, loaded.request)
        source = CandidateSource(loaded.request, prepare(loaded, text), text, randomness)
        source.redacted = cache(partial(redacted, text, loaded.request))
        effort = Effort.FULL if compare else Effort.OWN
        candidate = source.candidate(whom)
        needed = (one for one in ASSESSMENTS if one.applies(loaded.request))
        return {assessment.id: assessment.assess(candidate, effort) for assessment in needed}


def _loaded(request: str | Path | ReleaseRequest, folder: Path, roots: Sequence[Path]) -> LoadedRequest:
    if not isinstance(request, ReleaseRequest):
        return load_request(Path(request), roots, _enrolled_policy)
    sha256 = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
    return LoadedRequest(request, folder / "request", folder.resolve(), sha256, tuple(root.resolve() for root in roots))


def _enrolled_policy(policy_id: str, version: str) -> Mapping[str, Any]:
    """The policy that a request names, from RELEASEGATE_WORKSPACE or the nearest workspace."""
    from flows.policies import PolicyShelf  # noqa: PLC0415  imports the ledger
    from flows.workspace import nearest_workspace  # noqa: PLC0415

    named = os.environ.get("RELEASEGATE_WORKSPACE")
    place = Path(named) if named else nearest_workspace(Path.cwd()) or Path("workspace")
    return PolicyShelf(place)(policy_id, version)


def _recipient(request: ReleaseRequest, wanted: str | None) -> Recipient:
    chosen = [one for one in request.recipients if wanted in (None, one.id)]
    if len(chosen) == 1:
        return chosen[0]
    raise BadInput(
        "the recipient is not one of the request's" if wanted else "the request has several recipients",
        where="recipient",
        expected=f"one of {', '.join(one.id for one in request.recipients)}",
        got="another id" if wanted else "none",
        fix="name one of these",
    )
