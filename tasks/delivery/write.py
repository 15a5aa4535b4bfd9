"""Writing one recipient's file, reading it back and scoring it again, before it may be released."""

import hashlib
from pathlib import Path

import pyarrow as pa

from tasks.assessments.stored import save_figure
from tasks.candidate.candidate import Candidate
from tasks.core.files import Written, artifact, written
from tasks.decision.decoy_facts import DecoyFact
from tasks.decoys.copy_statistics import statistics_of_copy
from tasks.delivery.encryption import SUFFIX, encrypt
from tasks.delivery.kept import Kept, decoys_and_order, kept_key, packed
from tasks.delivery.parquet_file import Source
from tasks.delivery.pending import seal_members
from tasks.delivery.released_file import delivered_table, released_bytes, released_rows, write_released
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
    request, recipient = candidate.request, candidate.recipient
    own, seed = decoys_and_order(key_file, release_id, recipient.id, decoys)
    form, keys = request.format_for(recipient), recipient.encrypt_to
    released = delivered_table(candidate, seed, form, own)
    target = folder / f"released-{recipient.id}.{form.value}{SUFFIX if keys else ''}"
    clear: Source = target
    if keys:
        clear = released_bytes(released, form)
    else:
        with written(target) as partial:
            write_released(released, partial, form)
    rows = released_rows(candidate.prepared.tuple_of_record, candidate.released, seed, len(own))
    figures = None
    if decoys_as_sealed(clear, own, rows >= 0, request):
        figures = figures_of_file(clear, candidate, rows)
    if isinstance(clear, pa.Buffer):
        with written(target) as partial:
            encrypt(clear, partial, keys)
    statistics = folder / f"statistics-{recipient.id}.json"
    with written(statistics) as partial:
        save_figure(statistics_of_copy(candidate.frame, request, candidate.masked, rows[rows >= 0], own), partial)
    file = artifact(target)
    again = folder / f"kept-{recipient.id}.sealed"
    made = Kept.of(candidate, loaded.content, key_file, clear.to_pybytes() if isinstance(clear, pa.Buffer) else None)
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
