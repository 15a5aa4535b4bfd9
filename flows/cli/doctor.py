"""``releasegate doctor``: what is missing on this machine, and how to get it."""

from dataclasses import asdict

from flows.actions.doctor import Condition, conditions
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, answer


def doctor(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """Say what is missing on this machine, and how to get it.

    Looks at packages, extras, the libraries that render reports, the workspace and the browser, and writes nothing.
    Exit code 1 if no release can be made.
    """
    found = list(conditions(workspace))
    code = ExitCode.INTERNAL if any(one.fails for one in found) else ExitCode.APPROVED
    return answer({"conditions": [asdict(one) for one in found]}, map(_line, found), code=code)


def _line(one: Condition) -> str:
    mark = "✗" if one.fails else "–" if one.remedy else "✓"
    return f"{mark} {one.name:15} {one.found}" + (f"; to do: {one.remedy}" if one.remedy else "")
