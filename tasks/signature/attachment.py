"""The decision record inside a determination's PDF, as it is attached to the document."""

from typing import Any

RECORD_NAME = "decision.json"


def attached(catalog: Any) -> bytes | None:
    """The bytes of the one ``decision.json`` among a document's associated files.

    Parameters
    ----------
    catalog : pyHanko dictionary
        The document's catalog, in the revision that is asked about.

    Returns
    -------
    bytes or None
        None where there is none, there are several, or it cannot be read.
    """
    try:
        files = [file.get_object() for file in catalog["/AF"]] if "/AF" in catalog else []
        found = [file["/EF"]["/F"].data for file in files if str(file["/UF"]) == RECORD_NAME]
    except MemoryError:
        raise
    except Exception:  # of a document that is anybody's
        return None
    return bytes(found[0]) if len(found) == 1 else None
