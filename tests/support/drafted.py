"""A draft filled in by somebody who changes nothing else."""

import re

ANSWERS = {
    "title": "A release",
    "requested_by": "a.steward",
    "source": "a register",
    "path": "population.csv",
    "id": "a-1",
    "organisation": "A University",
    "purpose": "research",
    "expires": "2040-01-01",
    "benefit": "1200",
    "loss": "300",
    "cost": "4",
    "count": "people",
    "record_id": "row",
    "known_probability": "0",
    "at_most": "0.5",
    "because": "the board accepts it",
}


def filled(text: str) -> str:
    """The draft with an answer wherever it asks for one."""
    text = re.sub(r'\b(\w+): "\?"', lambda m: f"{m[1]}: {ANSWERS[m[1]]}", text)
    return re.sub(
        r"^( *(?:- )?)(\w+):( +# fill in: .*)$", lambda m: f"{m[1]}{m[2]}: {ANSWERS[m[2]]}{m[3]}", text, flags=re.M
    )
