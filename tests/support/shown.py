"""Output as documents show it, with lines left out."""

LEFT_OUT = "…"


def missing(shown: list[str], printed: list[str]) -> list[str]:
    """Shown lines, from the first one that is not printed in its place on; “…” stands for any lines.

    A line before “…” may begin a longer one, as a column's role comes before its reasons.
    """
    at, free = 0, False
    for place, line in enumerate(shown):
        if line == LEFT_OUT:
            free = True
            continue
        abridged = shown[place + 1 : place + 2] == [LEFT_OUT]
        reach = range(at, len(printed)) if free else range(at, min(at + 1, len(printed)))
        found = next((n for n in reach if printed[n] == line or (abridged and printed[n].startswith(line))), None)
        if found is None:
            return shown[place:]
        at, free = found + 1, False
    return [] if free or at == len(printed) else printed[at:]
