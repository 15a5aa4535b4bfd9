"""Risk against utility of a masking, as its one parameter varies: what a little more or less of it would do."""

import numpy as np

from tasks.assessments.linkage.distance import distance_linkage
from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.informed import Release, candidate_linkage
from tasks.assessments.linkage.method_knowledge import MaskedPart
from tasks.assessments.utility.facts import CurvePointFact, MaskingCurve
from tasks.assessments.utility.numeric_change import numeric_change
from tasks.core.errors import ParameterError
from tasks.masking.masked_columns import masking_method
from tasks.request.model import PARAMETER_OF, Masking

STRENGTHS: dict[str, tuple[float, ...]] = {
    "p": (1, 2, 4, 6, 8, 10, 14, 20, 30),
    "buckets": (2, 5, 10, 20, 50, 100),
    "k": (2, 3, 5, 10, 25, 50, 100),
    "noise": (0.01, 0.05, 0.1, 0.25, 0.5, 1.0),
}
"""Values of each parameter that are tried in addition to the chosen one."""


def masking_curve(masking: Masking, values: Floats, generator: np.random.Generator) -> MaskingCurve:
    """Mask some records with other strengths and attack each result by the masked numbers alone.

    Parameters
    ----------
    masking : Masking
    values : array of shape (n_records, n_attributes)
        Original values of the masked attributes, of a sample of the records; every attribute varies.
    generator : Generator
        Draws the maskings; they are not those of the release.

    Notes
    -----
    The share linked by distance, and by the intersection attack of one who knows the method, with every record of the
    sample attacked; it is larger than in the whole file, where more records are alike. Strengths that the method cannot
    be applied with to so many records are left out. Utility is IL1s, the mean over the attributes.
    """
    parameter = PARAMETER_OF[masking.method]
    points = []
    for strength in sorted({*STRENGTHS[parameter], masking.strength}):
        point = _point(masking, parameter, strength, values, generator)
        if point is not None:
            points.append(point)
    return MaskingCurve(
        attributes=masking.attributes,
        method=masking.method.value,
        parameter=parameter,
        people=len(values),
        points=tuple(points),
    )


def _point(
    masking: Masking, parameter: str, strength: float, values: Floats, generator: np.random.Generator
) -> CurvePointFact | None:
    tried = masking.model_copy(update={parameter: strength})
    n_records, n_attributes = values.shape
    try:
        masked = masking_method(tried, n_attributes).mask(values, generator).values
        varying = np.flatnonzero(masked.min(axis=0) < masked.max(axis=0))
        if not len(varying):
            return None
        part = MaskedPart(tried, values[:, varying], masked[:, varying], len(varying) == n_attributes)
        nothing = np.empty((n_records, 0), dtype=np.int64)
        everybody = np.arange(n_records)
        informed = candidate_linkage(Release(everybody, nothing, (part,)), everybody)
        uninformed = distance_linkage(part.files, workers=1)
        change = numeric_change(values, masked, masking.attributes)
    except ParameterError:
        return None
    return CurvePointFact(
        strength=strength,
        uninformed=uninformed.share_correct,
        informed=max(informed.share_correct, uninformed.share_correct),
        displacement=change.il1s or 0.0,
        chosen=strength == masking.strength,
    )
