"""Reading the settings of the service.

No value of the file is repeated in a message: what stands in the place of a variable's name may be a secret.
"""

from pathlib import Path

from tasks.request.form import Form
from tasks.request.reading import checked, decoded, read_bytes
from tasks.service.settings import ServiceSettings

SETTINGS = Form(
    model=ServiceSettings,
    name="the settings file",
    kind="a file of service settings",
    start="see the settings in docs/service.md",
    shorten="see the settings in docs/service.md",
)


def load_settings(path: Path) -> ServiceSettings:
    """Read and check the settings.

    Parameters
    ----------
    path : Path
        YAML 1.2 in UTF-8, at most 1 MB.

    Raises
    ------
    RequestError
        If the file cannot be read or is not valid; ``problems`` holds the first 100 mistakes found.
    """
    settings, _ = checked(decoded(read_bytes(path, SETTINGS), path, SETTINGS), path, SETTINGS)
    return settings
