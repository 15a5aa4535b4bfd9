"""Inputs of a release: the hashes of all files that a request names."""

from dataclasses import dataclass, field

from tasks.request.load import LoadedRequest, named_files


@dataclass(frozen=True)
class Inputs:
    """The bytes that a release is made from."""

    dataset_sha256: str
    population_sha256: str
    """SHA-256 of the table of people; of the data where people are counted in the file."""
    hierarchies: dict[str, str]
    """SHA-256 of each hierarchy file, by attribute."""
    external_data_sha256: str | None = None
    """SHA-256 of the external register, where the request names one."""
    tables: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each further table, by name."""
    by_place: dict[str, str] = field(default_factory=dict, compare=False)
    """SHA-256 of every file, by the place in the request that names it."""


def read_inputs(loaded: LoadedRequest) -> Inputs:
    """Hash every file that a request names; WorkspaceError if one of them cannot be used, BadInput if it changes."""
    hashes = {name: loaded.sha256_of(relative, name) for name, relative in named_files(loaded)}
    start, end = "attributes.", ".hierarchy.file"
    return Inputs(
        dataset_sha256=hashes["dataset.path"],
        population_sha256=hashes.get("population.path", hashes["dataset.path"]),
        hierarchies={
            name.removeprefix(start).removesuffix(end): sha256
            for name, sha256 in hashes.items()
            if name.startswith(start)
        },
        external_data_sha256=hashes.get("external_data.path"),
        tables={name: hashes[f"tables.{name}.path"] for name in loaded.request.tables},
        by_place=hashes,
    )
