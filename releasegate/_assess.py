"""Every assessment of one recipient's copy of a frame; nothing is written."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from releasegate._request import loaded_request
from tasks.assessments.registry import ASSESSMENTS
from tasks.candidate.assessment import Effort, Finding
from tasks.candidate.candidate import CandidateSource
from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.decision.gates import judge_gates
from tasks.decision.record import GateResult
from tasks.microdata.prepared import prepare
from tasks.microdata.read import frame_as_text
from tasks.redaction.columns import redacted
from tasks.request.model import Recipient, ReleaseRequest

if TYPE_CHECKING:
    from reports.model.document import Block


class Assessed(dict[str, Finding[Any]]):
    """Findings of every assessment of one recipient's copy, by the assessment's name; a notebook shows its gates.

    ``gates`` are the policy's gates on what was measured; validation, agreement and delivery are judged by ``release``.
    """

    def __init__(
        self, recipient: Recipient, findings: Mapping[str, Finding[Any]], gates: tuple[GateResult, ...]
    ) -> None:
        super().__init__(findings)
        self.recipient = recipient.id
        self.gates = gates

    @property
    def passed(self) -> bool:
        """Whether all these gates pass."""
        return all(gate.passed for gate in self.gates)

    def _repr_html_(self) -> str:
        from reports.templating import fragment_html  # noqa: PLC0415 - drawing is for those who look at it

        return fragment_html(self._shown())

    def _shown(self) -> "Iterator[Block]":
        from reports.model.document import Heading, Table, passed  # noqa: PLC0415
        from reports.model.gates_chart import gates_chart  # noqa: PLC0415
        from tasks.decision.written_figures import write_result  # noqa: PLC0415

        number = sum(gate.passed for gate in self.gates)
        yield Heading(f"{self.recipient}: {number} of {len(self.gates)} gates on measured risk and utility pass")
        rows = [(gate.title, *write_result(gate, small_cell=1), passed(yes=gate.passed)) for gate in self.gates]
        yield Table("", "Gate 50 | Measured 18r | Required 18 | Outcome 14", rows)
        yield from gates_chart(self.gates)


def assess(
    frame: pd.DataFrame,
    request: str | Path | ReleaseRequest,
    recipient: str | None = None,
    *,
    folder: str | Path = ".",
    roots: Sequence[str | Path] = (),
    compare: bool = True,
    seed: int = 0,
) -> Assessed:
    """Findings of every assessment of one recipient's copy of a frame, by the assessment's name.

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
    Assessed
        By name a ``Finding``: ``fact``, as in the decision record, and ``measures``, as gates judge them. ``gates`` are
        the policy's, judged on these; a notebook shows them.

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
        loaded = loaded_request(request, folder, roots)
        whom = _recipient(loaded.request, recipient)
        text = frame_as_text(frame, loaded.request)
        source = CandidateSource(loaded.request, prepare(loaded, text), text, randomness)
        source.redacted = cache(partial(redacted, text, loaded.request))
        effort = Effort.FULL if compare else Effort.OWN
        candidate = source.candidate(whom)
        needed = [one for one in ASSESSMENTS if one.applies(loaded.request)]
        found = {assessment.id: assessment.assess(candidate, effort) for assessment in needed}
        figures = {measure: figure for one in found.values() for measure, figure in one.measures.items()}
        intervals = {
            measure: around
            for assessment in needed
            for measure, around in assessment.intervals(found[assessment.id].fact).items()
        }
        gates = [gate for gate in loaded.request.policy.gates if gate.measure in figures]
        return Assessed(whom, found, judge_gates(gates, figures, intervals))


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
