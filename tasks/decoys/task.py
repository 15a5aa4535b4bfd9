"""Door of the decoy stage: give recipients their decoys, seal the manifest, withhold what others alone keep."""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np
from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.decoys.sealing import NONCE_BYTES, seal
from tasks.decoys.stage import Copies, plant, without
from tasks.decoys.vault import Vault
from tasks.errors import ParameterError, StageFailed
from tasks.generalization.play import Played, Table
from tasks.generalization.played_file import load_played, save_played
from tasks.guard import guarded
from tasks.masking.masked_file import load_masked
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest
from tasks.risk.finding_file import save_figure
from tasks.risk.released import released_tuples
from tasks.shared_table import shared_table

_SECRET_BYTES = 32


class DecoyedCopy(TypedDict):
    """What the decoy stage leaves of one recipient's copy."""

    played: Artifact
    """The cells of its tuples, with those that are missing for others' kept classes withheld."""
    fact: Artifact | None
    """What the record says of its decoys; None where it has none."""


class Decoyed(TypedDict):
    """What the decoy stage leaves: the sealed manifest, and every copy by recipient."""

    manifest: Artifact
    copies: dict[str, DecoyedCopy]


@task(name="place decoys", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def place_decoys(  # noqa: PLR0917
    release_id: str,
    request: str,
    roots: list[str],
    prepared: Artifact,
    played: dict[str, Artifact],
    masked: Artifact,
    continues: dict[str, str],
    key_file: str,
    folder: str,
) -> Decoyed:
    """Give recipients their decoys, and take from every copy what others alone keep.

    Parameters
    ----------
    release_id : str
        Names every input's bytes.
    request : str
        Path of the request.
    roots : list of str
        Folders that the request may name files in.
    prepared, masked : Artifact
        The coded data and the masked columns.
    played : dict of str to Artifact
        By recipient, the cells that its method releases; recipients whose generalization failed are left out.
    continues : dict of str to str
        ``release`` and ``commitment`` of the version whose decoys are continued; empty for new ones.
    key_file : str
        Path of the workspace's key; manifests and their keys lie beside it.
    folder : str
        Private folder of the run.

    Side effects
    ------------
    Writes the sealed manifest into the workspace, where it stays; makes the keys at first use.

    Notes
    -----
    Decoys are drawn from the system's randomness, unlike anything else: nobody who has the workspace's key can draw
    them again. A run that is resumed finds the result of this stage; one that finds it gone has other decoys.
    """
    with guarded("decoys"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        asked = loaded.request
        coded, table = shared_table(asked, prepared)
        outcomes = {name: load_played(checked(one)) for name, one in played.items()}
        releasing = {name: one for name, one in outcomes.items() if _releases(asked, table, one)}
        copies = Copies(
            request=asked,
            prepared=coded,
            table=table,
            frame=read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked),
            masked=load_masked(checked(masked)),
            played=releasing,
        )
        vault = Vault.beside(Path(key_file))
        try:
            before = vault.open(continues["release"], continues["commitment"]) if continues else None
            planted = plant(copies, release_id, before, _generators(secrets.token_bytes(_SECRET_BYTES)))
        except ParameterError as error:
            raise StageFailed(
                error.what, where=error.where, expected=error.expected, got=error.got, fix=error.fix
            ) from None
        sealed = seal(planted.manifest, vault.keys(), secrets.token_bytes(NONCE_BYTES))
        manifest = artifact(vault.write(release_id, sealed.content))
        made: dict[str, DecoyedCopy] = {
            name: DecoyedCopy(played=one, fact=None) for name, one in played.items() if name not in releasing
        }
        for name, outcome in releasing.items():
            fact = planted.facts.get(name)
            target = Path(folder) / f"played-{name}-with-decoys.npz"
            with written(target) as partial:
                save_played(replace(outcome, withheld=without(outcome, planted.missing[name])), partial)
            told = None
            if fact is not None:
                place = Path(folder) / f"decoys-{name}.json"
                with written(place) as partial:
                    save_figure(fact.model_copy(update={"commitment_sha256": sealed.commitment}), partial)
                told = artifact(place)
            made[name] = DecoyedCopy(played=artifact(target), fact=told)
        return Decoyed(manifest=manifest, copies=made)


def _releases(request: ReleaseRequest, table: Table, played: Played) -> bool:
    """Whether anything is left to release; where not, scoring says so."""
    try:
        released_tuples(table, played, request.policy.generalization.minimum_class_size)
    except StageFailed:
        return False
    return True


def _generators(secret: bytes) -> Callable[[str], np.random.Generator]:
    def generator(purpose: str) -> np.random.Generator:
        return np.random.default_rng(int.from_bytes(hmac.digest(secret, purpose.encode(), "sha256")))

    return generator
