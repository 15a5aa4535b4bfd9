"""What all parts of a request have in common: no unknown keys, and the kinds of text and number they hold."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
PersonName = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
OpenProbability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Money = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Cost = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024)]


class Part(BaseModel):
    """A part of the request: no unknown keys, never changed after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, ser_json_inf_nan="strings")
