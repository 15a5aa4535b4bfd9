"""The report's figures as images of a page: drawn from the record, one at a time, and kept for a while."""

import threading
from collections import OrderedDict

from reports.figures import figures
from tasks.decision.record import DecisionRecord

_KEPT = 200


class Drawings:
    """Drawings by record and name; the drawing library keeps its settings for the whole process, so one draws alone."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        self._drawn: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def svg(self, record: DecisionRecord, record_sha256: str, name: str) -> bytes | None:
        """A figure of a record; None where the record has none of this name."""
        key = (record_sha256, name)
        with self.alone:
            if key not in self._drawn:
                figure = figures(record).get(name)
                if figure is None:
                    return None
                self._drawn[key] = figure.outlined
                while len(self._drawn) > _KEPT:
                    self._drawn.popitem(last=False)
            self._drawn.move_to_end(key)
            return self._drawn[key]
