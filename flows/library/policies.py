"""The texts of enrolled policies: files of the workspace, each checked against the ledger where it is read.

``<workspace>/policies/<id>@<version>.yaml`` holds a policy with every default written out, as JSON, which
YAML includes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import ValidationError

from flows.workspace.folders import WRITTEN_OUT, Workspace, no_workspace
from tasks.core.canonical import digest
from tasks.core.errors import BadInput, TamperingFound
from tasks.core.files import write_whole
from tasks.request.policy import Policy

if TYPE_CHECKING:
    from tasks.ledger.enrolment import EnrolledPolicy, EnrolledText

_LONGEST_NAME = 120


@dataclass(frozen=True)
class PolicyShelf:
    """Gives the enrolled policies of a workspace by id and version, as ``load_request`` asks for them."""

    root: Path
    """Folder of the workspace."""
    begins: bool = False
    """Whether the request is for the first enrolment, before which there may be no workspace."""

    def __call__(self, policy_id: str, version: str) -> Mapping[str, Any]:
        """The policy's document, also after its enrolment has ended, so that decisions under it can be explained.

        Raises WorkspaceError if there is no workspace, BadInput if no such policy was enrolled, TamperingFound if its
        file is not the one that was enrolled.
        """
        # A request with a policy of its own needs no ledger, whose libraries take long to import.
        from flows.workspace.ledger import has_ledger, open_ledger  # noqa: PLC0415
        from tasks.ledger.enrolment import Directory  # noqa: PLC0415

        workspace = Workspace(self.root.resolve())
        if has_ledger(workspace):
            with open_ledger(workspace) as ledger:
                directory = Directory.of(ledger)
        elif self.begins:
            directory = Directory()
        else:
            raise no_workspace(self.root)
        enrolled = directory.policy(policy_id, version, ended=True)
        if enrolled is None:
            raise BadInput(
                "the policy is not enrolled",
                where="policy",
                expected="an enrolled policy",
                got="an id and version that are not enrolled",
                fix=f"nothing is enrolled yet: the first enrolment needs {WRITTEN_OUT}"
                if directory.is_empty
                else "let an officer enrol it, or name what releasegate enrol list shows",
            )
        document: dict[str, Any] = json.loads(policy_text(workspace, enrolled))
        return document


def policy_text(workspace: Workspace, enrolled: "EnrolledPolicy") -> str:
    """The stored text of an enrolled policy; TamperingFound if it is not the policy that was enrolled."""
    path = policy_file(workspace, enrolled.id, enrolled.version)
    return enrolled_bytes(
        path, enrolled, lambda content: digest(Policy.model_validate_json(content, strict=True)), "policy"
    ).decode()


def enrolled_bytes(
    path: Path, item: "EnrolledPolicy | EnrolledText", digest_of: Callable[[bytes], str], what: str
) -> bytes:
    """Bytes of an enrolled text; TamperingFound if they are not those that were enrolled."""
    try:
        content = path.read_bytes()
        found = digest_of(content)
    except (OSError, ValidationError):
        content, found = b"", ""
    if found != item.sha256:
        raise TamperingFound(
            f"the file of a {item.kind} is not the one that was enrolled",
            where=str(path),
            expected=f"the {what} of the enrolled SHA-256",
            got=f"another {what}" if found else f"no {what}",
            fix="restore it from a backup, and find out who changed it",
        )
    return content


def policy_file(workspace: Workspace, policy_id: str, version: str) -> Path:
    """File of an enrolled policy; a version that cannot be a file name is escaped, a long one hashed."""
    return workspace.root / "policies" / f"{policy_id}@{version_in_name(version)}.yaml"


def version_in_name(version: str) -> str:
    """A version as part of a file name: escaped where it cannot be one, hashed where it is long."""
    plain = quote(version, safe=" ")
    return plain if len(plain) <= _LONGEST_NAME else digest(version)


def keep_policy(workspace: Workspace, policy: Policy) -> None:
    """Write the file of a policy that is being enrolled."""
    text = json.dumps(policy.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_whole(policy_file(workspace, policy.id, policy.version), f"{text}\n".encode())
