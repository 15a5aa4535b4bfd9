"""Distance-based record linkage (DLD): each of the intruder's records is linked to the nearest masked one."""

from tasks.assessments.linkage.figure import Linkage, linkage
from tasks.assessments.linkage.files import Files, Scale, common_scale
from tasks.assessments.linkage.nearest import Path, nearest_credit


def distance_linkage(files: Files, scale: Scale | None = None, path: Path | None = None, workers: int = -1) -> Linkage:
    """Link by the Euclidean distance between standardised records (Torra 2016, slide 25).

    Parameters
    ----------
    files : Files
    scale : {"own", "masked"}, optional
        How the files are standardised; see ``common_scale``.
    path : {"tree", "product"}, optional
    workers : int
        See ``nearest_credit``.

    Raises
    ------
    ParameterError
        If an attribute of the intruder's is the same in all records and it is to be standardised by itself.
    """
    original, masked = common_scale(files, scale)
    return linkage(nearest_credit(original, masked, files.truth, path, workers), len(masked))
