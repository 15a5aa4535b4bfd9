"""Door of the delivery stage: write the released file where the gates are open so far, read it back, score it again."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, Written, artifact, checked, written
from tasks.decision.decoy_facts import DecoyFact
from tasks.decoys.findings import statistics_of_copy
from tasks.decoys.vault import Vault
from tasks.delivery.encryption import SUFFIX, encrypt
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import seal_members
from tasks.delivery.released_file import released_bytes, released_rows, released_table, write_released
from tasks.delivery.reread import decoys_as_sealed, figures_of_file
from tasks.delivery.seed import derive_seed
from tasks.errors import StageFailed
from tasks.generalization.played_file import load_played
from tasks.guard import guarded
from tasks.masking.masked_file import load_masked
from tasks.microdata.read import read_microdata
from tasks.reassessment.kept import keep, kept_key, names_of, packed
from tasks.request.load import LoadedRequest, load_request
from tasks.request.public_key import fingerprint, kind_of
from tasks.risk.finding_file import load_figure, save_figure
from tasks.risk.released import released_tuples
from tasks.shared_table import shared_table


@task(name="write", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def write_release(  # noqa: PLR0917
    release_id: str,
    request: str,
    roots: list[str],
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    masked: Artifact,
    decoys: Artifact | None,
    key_file: str,
    folder: str,
) -> Written:
    """Write one recipient's file into the private folder of the run, and score it from its bytes.

    A file that is to be encrypted is made and read back in memory; only its ciphertext comes to the disk, and a copy
    that is sealed with the workspace's own key, from which it can be assessed again.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; the row order follows from it and the key, or from what is sealed of decoys.
    request, recipient : str
        Path of the request and id of the recipient.
    roots : list of str
        Folders that the request may name files in.
    prepared, played, masked : Artifact
        The coded data, the cells they are released as, and the masked columns.
    decoys : Artifact, optional
        What the record says of the copy's decoys, which the sealed manifest holds; None where it has none.
    key_file : str
        Path of the workspace's key; the key itself never becomes a parameter.
    folder : str
        Private folder of the run.
    """
    with guarded("delivery"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        asked, policy = loaded.request, loaded.request.policy
        coded, table = shared_table(asked, prepared)
        outcome = load_played(checked(played))
        kept = released_tuples(table, outcome, policy.generalization.minimum_class_size)
        columns = load_masked(checked(masked))
        own = _decoys_of(recipient, release_id, decoys, Path(key_file))
        seed = derive_seed(Path(key_file), release_id, f"row order {recipient}")
        if decoys is not None:
            seed = Vault.beside(Path(key_file)).order_seed(release_id, recipient)
        frame = read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked)
        whom = asked.recipient(recipient)
        form, keys = asked.format_for(whom), whom.encrypt_to
        released = released_table(
            frame,
            asked,
            table,
            cells=outcome.cells,
            tuple_of_record=coded.tuple_of_record,
            keep=kept,
            seed=seed,
            masked=columns,
            decoys=own,
            form=form,
        )
        target = Path(folder) / f"released-{recipient}.{form.value}{SUFFIX if keys else ''}"
        clear: Source = target
        if keys:
            clear = released_bytes(released, form)
        else:
            with written(target) as partial:
                write_released(released, partial, form)
        rows = released_rows(coded.tuple_of_record, kept, seed, len(own))
        figures = None
        if decoys_as_sealed(clear, own, rows >= 0, asked):
            figures = figures_of_file(clear, asked, recipient, coded, table, outcome, kept, columns, rows)
        if isinstance(clear, pa.Buffer):
            with written(target) as partial:
                encrypt(clear, partial, keys)
        statistics = Path(folder) / f"statistics-{recipient}.json"
        with written(statistics) as partial:
            save_figure(statistics_of_copy(frame, asked, columns, rows[rows >= 0], own), partial)
        file = artifact(target)
        again = Path(folder) / f"kept-{recipient}.sealed"
        left = np.flatnonzero(kept[coded.tuple_of_record])
        names = names_of(frame[asked.dataset.record_id].iloc[left], Path(key_file))
        in_clear = clear.to_pybytes() if isinstance(clear, pa.Buffer) else None
        made = keep(_document(loaded), table, outcome, kept, names, in_clear)
        seal_members(packed(made), again, kept_key(Path(key_file), release_id, recipient))
        return Written(
            file=file,
            clear_sha256=hashlib.sha256(clear).hexdigest() if isinstance(clear, pa.Buffer) else file["sha256"],
            form=form.value,
            keys=[{"kind": kind_of(key), "fingerprint": fingerprint(key)} for key in keys],
            rows=released.num_rows,
            figures=figures,
            statistics=artifact(statistics),
            kept=artifact(again),
        )


def _document(loaded: LoadedRequest) -> bytes:
    """The request's bytes, if they are still those that were read."""
    content = loaded.path.read_bytes()
    if hashlib.sha256(content).hexdigest() != loaded.sha256:
        raise StageFailed(
            "the request was changed while the gate was at work",
            where=str(loaded.path),
            expected="the bytes that the release is named by",
            got="others",
            fix="wait until nothing writes to it, then run the command again",
        )
    return content


def _decoys_of(
    recipient: str, release_id: str, decoys: Artifact | None, key_file: Path
) -> Sequence[Mapping[str, str | None]]:
    """Decoy records of a copy, from the sealed manifest that its record commits to."""
    if decoys is None:
        return ()
    fact = load_figure(checked(decoys), DecoyFact)
    manifest = Vault.beside(key_file).open(release_id, fact.commitment_sha256)
    return next(holder.rows for holder in manifest.holders if holder.recipient == recipient)
