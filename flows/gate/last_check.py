"""The last check of all files that a run would deliver, in the process that records the release.

The microdata are read from their private copy once more, masked, redacted, and their dates shifted. What is published
later is compared by hash with the records, and so with the bytes that are checked here.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from flows.pipeline.run import Run
from flows.pipeline.workbench import Workbench
from flows.workspace.progress import step
from tasks.core.memory import return_memory
from tasks.core.seed import masking_generator
from tasks.dates.offsets import offset_key
from tasks.dates.released_dates import released_dates
from tasks.decision.record import Verdict
from tasks.decoys.vault import Vault
from tasks.delivery.bundle_files import RecipientFiles, no_file
from tasks.delivery.kept import decoys_and_order, kept_key, unpacked
from tasks.delivery.last_check import LastCheck
from tasks.delivery.pending import open_members
from tasks.delivery.pseudonym_columns import pseudonyms_of_copy
from tasks.masking.masked_columns import mask_columns
from tasks.pseudonyms.pseudonyms import PseudonymScope
from tasks.redaction.columns import redacted

_AT_ONCE = 2
"""Copies that are checked at a time; a third would only take memory on the usual two processors."""


def check_copies(
    run: Run, recipients: Sequence[RecipientFiles], copies: Mapping[str, Mapping[str, Any] | None]
) -> list[RecipientFiles]:
    """The files, those that may be delivered checked, with the groups that go with them.

    ``copies`` are the artifacts that each was made of, by recipient. Raises StageFailed if a file is missing or does
    not follow from the inputs that the release is named by.
    """
    if all(files.record.decision is Verdict.BLOCKED for files in recipients):
        return list(recipients)
    step("checking the files once more")
    bench = Workbench(replace(run, dask=None))  # what a cluster's workers made is checked by this machine alone
    frame = bench.frame()
    masked = mask_columns(bench.request, frame, partial(masking_generator, run.key))
    anew = redacted(frame, bench.request) if bench.request.texts else None

    def with_groups(files: RecipientFiles) -> RecipientFiles:
        record, who = files.record, files.record.recipient.id
        if record.decision is Verdict.BLOCKED:
            return files
        parts = copies[who]
        if files.released is None or files.kept is None or parts is None:
            raise no_file(files)
        clear = unpacked(open_members(files.kept, kept_key(run.key, record.release_id, who))).clear
        decoys, order = decoys_and_order(run.key, record.release_id, who, record.decoys)
        dates = released_dates(bench.request, frame, offset_key(run.key, bench.request, who))
        copy = replace(
            bench.candidate(who, parts),
            source=lambda: frame,
            masked=masked,
            dates=dates,
            redacted=None if anew is None else lambda: anew,
        )
        content = pa.py_buffer(files.released.read_bytes() if clear is None else clear)
        scope = PseudonymScope(run.key, record.release_id, who)
        pseudonyms = pseudonyms_of_copy(copy, decoys, scope)
        if record.pseudonyms is not None:
            # A copy whose crosswalk is missing or changed could not be traced by its pseudonyms.
            Vault.beside(run.key).check_crosswalk(record.release_id, who, str(record.pseudonyms.crosswalk_sha256))
        check = LastCheck(content, copy, record, decoys, order, pseudonyms)
        checked = replace(files, listed=check.make(), left_out=check.left_out, labels=check.labels)
        return_memory()
        return checked

    with ThreadPoolExecutor(1 if bench.is_large else _AT_ONCE) as threads:
        return list(threads.map(with_groups, recipients))
