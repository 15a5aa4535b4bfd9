"""One run of the gate in a process of its own, with the arguments REQUEST WORKSPACE PROGRESS ROOT….

It writes its steps and its outcome to the file PROGRESS, and ends with the process that has started it.
"""

import gc
import hashlib
import os
import sys
from functools import partial
from pathlib import Path

from flows.workspace.folders import Workspace
from flows.workspace.parent_process import end_with_parent
from flows.workspace.told_progress import tell_in
from tasks.core.errors import ReleasegateError, RequestError
from tasks.core.guard import guarded
from tasks.core.modes import owner_only
from tasks.core.secret_variables import secrets_taken


def main(request: Path, workspace: Path, progress: Path, roots: list[Path]) -> int:
    """Run the gate on a request; returns 0 once it is decided, 1 where it cannot be."""
    tell = partial(tell_in, progress)
    try:
        with owner_only(), secrets_taken(), guarded("release"):
            from flows.pipeline.workers import start_fork_server  # noqa: PLC0415

            tell(request_sha256=hashlib.sha256(request.read_bytes()).hexdigest())
            tell(step="reading the request")
            start_fork_server(Workspace(workspace).private)
            from flows.gate.release import run_release  # noqa: PLC0415
            from flows.workspace.progress import listening  # noqa: PLC0415

            with listening(lambda name: tell(step=name)):
                made = run_release(request, workspace, roots, enrol=True)
    except ReleasegateError as error:
        fields = error.fields()
        if isinstance(error, RequestError) and len(error.problems) > 1:
            fields["got"] = "; ".join(f"{one.place}: {one.what}" for one in error.problems)
        tell(error=fields)
        return 1
    tell(release_id=made.release_id, recipients=[one.recipient.id for one in made.records])
    return 0


if __name__ == "__main__":
    end_with_parent(os.getppid())
    gc.set_threshold(50_000, 20, 50)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), [Path(one) for one in sys.argv[4:]]))
