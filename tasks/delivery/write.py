"""Writing one recipient's file, reading it back and scoring it again, before it may be released."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from tasks.assessments.stored import save_figure
from tasks.candidate.candidate import Candidate
from tasks.core.files import Written, artifact, written
from tasks.core.seed import derive_seed
from tasks.decision.decoy_facts import DecoyFact
from tasks.decoys.copy_statistics import statistics_of_copy
from tasks.decoys.vault import Vault
from tasks.delivery.encryption import SUFFIX, encrypt
from tasks.delivery.kept import keep, kept_key, names_of, packed
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import seal_members
from tasks.delivery.released_file import released_bytes, released_rows, released_table, write_released
from tasks.delivery.reread import decoys_as_sealed, figures_of_file
from tasks.request.load import LoadedRequest
from tasks.request.public_key import fingerprint, kind_of


def write_release(
    candidate: Candidate,
    loaded: LoadedRequest,
    decoys: DecoyFact | None,
    *,
    release_id: str,
    key_file: Path,
    folder: Path,
) -> Written:
    """Write a candidate into the private folder of the run, and score the file from its bytes.

    A file that is to be encrypted is made and read back in memory; only its ciphertext comes to the disk, and a copy
    that is sealed with the workspace's own key, from which it can be assessed again.

    Parameters
    ----------
    candidate : Candidate
    loaded : LoadedRequest
        The request with its bytes, which are kept for re-assessment.
    decoys : DecoyFact, optional
        What the record says of the copy's decoys, which the sealed manifest holds; None where it has none.
    release_id : str
        The row order follows from it and the key, or from what is sealed of decoys.
    key_file : Path
        The workspace's key.
    folder : Path
        Private folder of the run.

    Raises
    ------
    StageFailed
        If the file cannot be written or read back.
    """
    request, recipient, played = candidate.request, candidate.recipient, candidate.generalization
    prepared, frame = candidate.prepared, candidate.frame
    own = _decoys_of(recipient.id, release_id, decoys, key_file)
    seed = derive_seed(key_file, release_id, f"row order {recipient.id}")
    if decoys is not None:
        seed = Vault.beside(key_file).order_seed(release_id, recipient.id)
    form, keys = request.format_for(recipient), recipient.encrypt_to
    released = released_table(
        frame,
        request,
        candidate.index,
        cells=played.cells,
        tuple_of_record=prepared.tuple_of_record,
        keep=candidate.released,
        seed=seed,
        masked=candidate.masked,
        decoys=own,
        form=form,
    )
    target = folder / f"released-{recipient.id}.{form.value}{SUFFIX if keys else ''}"
    clear: Source = target
    if keys:
        clear = released_bytes(released, form)
    else:
        with written(target) as partial:
            write_released(released, partial, form)
    rows = released_rows(prepared.tuple_of_record, candidate.released, seed, len(own))
    figures = None
    if decoys_as_sealed(clear, own, rows >= 0, request):
        figures = figures_of_file(clear, candidate, rows)
    if isinstance(clear, pa.Buffer):
        with written(target) as partial:
            encrypt(clear, partial, keys)
    statistics = folder / f"statistics-{recipient.id}.json"
    with written(statistics) as partial:
        save_figure(statistics_of_copy(frame, request, candidate.masked, rows[rows >= 0], own), partial)
    file = artifact(target)
    again = folder / f"kept-{recipient.id}.sealed"
    names = names_of(frame[request.dataset.record_id].iloc[candidate.rows], key_file)
    in_clear = clear.to_pybytes() if isinstance(clear, pa.Buffer) else None
    made = keep(loaded.content, candidate.index, played, candidate.released, names, in_clear)
    seal_members(packed(made), again, kept_key(key_file, release_id, recipient.id))
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


def _decoys_of(
    recipient: str, release_id: str, fact: DecoyFact | None, key_file: Path
) -> Sequence[Mapping[str, str | None]]:
    """Decoy records of a copy, from the sealed manifest that its record commits to."""
    if fact is None:
        return ()
    manifest = Vault.beside(key_file).open(release_id, fact.commitment_sha256)
    return next(holder.rows for holder in manifest.holders if holder.recipient == recipient)
