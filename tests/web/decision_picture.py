"""The picture of README, from the determination that ``make demo`` makes: ``python -m tests.web.decision_picture``."""

import io
import subprocess

from PIL import Image

from tests.support.world import ROOT
from tests.web.two_hours import COLOURS, IMAGES


def main() -> None:
    """The first page, in few colours."""
    (report,) = (ROOT / "build" / "demo" / "releases").glob("*/report/state-university.pdf")
    line = ["pdftoppm", "-png", "-singlefile", "-r", "80", str(report)]
    image = Image.open(io.BytesIO(subprocess.run(line, check=True, capture_output=True).stdout))
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / "decision.png", optimize=True)


if __name__ == "__main__":
    main()
