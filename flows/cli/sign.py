"""``releasegate sign``: an expert's signature on the determination of a release."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flows.actions.expert_signature import sign_determination
from flows.cli.key import action_on
from flows.cli.options import DEFAULT_WORKSPACE, ReleaseArgument, WorkspaceOption, asked
from flows.cli.output import answer
from flows.people.signing import nobody_to_ask
from reports.model.blocks import outcome
from tasks.core.secret_variables import secret
from tasks.signature.credentials import Credentials, read_pem, read_pkcs12

PASSPHRASE = "RELEASEGATE_SIGN_PASSPHRASE"  # noqa: S105 — the variable's name
"""Environment variable with the passphrase of the expert's key."""


def sign(
    release: ReleaseArgument,
    recipient: Annotated[
        str | None,
        typer.Option(
            "--recipient", help="Recipient of the determination; needed where there are several.", show_default=False
        ),
    ] = None,
    pkcs12: Annotated[
        Path | None,
        typer.Option("--pkcs12", help="Key, certificate and chain in one file (.p12, .pfx).", show_default=False),
    ] = None,
    pem: Annotated[
        list[Path] | None,
        typer.Option(
            "--pem",
            help="Key, certificate and chain in PEM, in one file or several; in place of --pkcs12.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--as", help="Your name for the ledger; need not be the expert's.", show_default=False)
    ] = None,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Sign the determination of a release with an expert's X.509 certificate.

    Bundle and ledger are verified first, so that only a recorded determination can be signed. The report is not
    changed: the signed PDF, which is the same bytes followed by one signature (PAdES-B-B), goes into the bundle below
    signed/, and the ledger names it and the certificate. No network is used: no timestamp server is asked, and
    revocation is not looked up. The passphrase comes from a prompt or the environment variable
    RELEASEGATE_SIGN_PASSPHRASE.
    """
    if (pkcs12 is None) == (not pem):
        raise typer.BadParameter("sign with --pkcs12 or with --pem")

    def read_credentials() -> Credentials:
        return read_pem(pem or [], _ask) if pkcs12 is None else read_pkcs12(pkcs12, _ask)

    made = sign_determination(action_on(release, workspace, by or "", recipient=recipient), read_credentials)
    covered = f"{made.covers}, the determination as the gate decided"
    if made.after_review:
        covered += f"; not the votes, which {made.after_review} shows"
    facts = {
        "covers": covered,
        "file": made.path,
        "signed by": made.expert,
        "certificate": made.fingerprint,
        "expert named in the decision": made.named or "none",
        "ledger entry": made.entry,
    }
    return answer(
        asdict(made),
        [
            outcome("signed", f": the determination for {made.recipient}"),
            *(f"  {name}: {value}" for name, value in facts.items()),
        ],
    )


def _ask() -> str:
    """The passphrase of the expert's key, from the environment or the terminal."""
    return secret(PASSPHRASE) or asked(
        "Passphrase of the expert's key", partial(nobody_to_ask, "the expert's key", PASSPHRASE)
    )
