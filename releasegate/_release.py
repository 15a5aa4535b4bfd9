"""The gate on a request, in the caller's own process."""

from collections.abc import Sequence
from pathlib import Path

from flows.gate.outcome import Outcome
from flows.gate.release import run_release
from flows.pipeline.sequence import in_process


def release(
    request_path: str | Path, workspace: str | Path, roots: Sequence[str | Path] = (), *, enrol: bool = False
) -> Outcome:
    """The gate on a request: every recipient's copy is approved, blocked or left to reviewers, and recorded.

    All stages run one after the other in this process, so that a script needs no ``if __name__ == "__main__":``. The
    decision is the one that the command line would make; stages of an interrupted run are made again.

    Parameters
    ----------
    request_path : str or Path
        The request, YAML.
    workspace : str or Path
        Folder of ledger, bundles and private files.
    roots : sequence of str or Path
        Folders beside the request's own that it may name files in.
    enrol : bool
        Whether to begin the workspace where there is none, and enrol the request's policy, population and persons where
        nothing is enrolled yet.

    Returns
    -------
    Outcome
        The bundle, and one decision record a recipient; blocked ones are decisions too.

    Raises
    ------
    BadInput
        If request or data cannot be used, or change meanwhile, or policy or population are not those enrolled.
    StageFailed
        If a stage fails that all recipients share; nothing leaves.
    TamperingFound
        If the ledger or an earlier bundle of this release is not as recorded.

    Side effects
    ------------
    Writes bundle, ledger and private files to the workspace.
    """
    folders = [Path(root) for root in roots]
    return run_release(Path(request_path), Path(workspace), folders, engine=in_process, enrol=enrol)
