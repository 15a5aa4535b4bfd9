"""Mistakes of a request in plain words: what was expected, what was got, what to do.

Only words are made here; ``tasks.request.load`` reads the document and raises the error.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tasks.request.document import Location, Mistake
from tasks.request.model import Measure, Role, ValueType
from tasks.request.places import annotation_at, described, model_at, printable, shows_value, value_at

_KINDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list",
    dict: "a mapping of names to values",
    date: "a date as YYYY-MM-DD",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_OUT_OF_RANGE = ("out of range", "", "correct the number")
_EMPTY = ("empty", "", "fill in the value")
_NOT_A_DATE = ("not a date", "a date of the calendar as YYYY-MM-DD, such as 2030-12-31", "correct the date")
_DIGITS = "write the number in digits, without quotes, units or thousands separators"
_WRONG = {
    **dict.fromkeys(_BOUNDS, _OUT_OF_RANGE),
    "enum": ("not one of the choices", "", ""),
    "literal_error": ("not one of the choices", "", ""),
    "finite_number": ("not a finite number", "a finite number", "write the number in digits"),
    "string_type": ("not text", "text", "put the value in quotes, so that YAML reads it as text"),
    "string_too_short": _EMPTY,
    "too_short": _EMPTY,
    "string_too_long": ("too long", "", "shorten it"),
    "string_pattern_mismatch": (
        "not a usable id",
        "1 to 64 small letters, digits, dots, hyphens or underscores, a letter or digit first",
        "rename it",
    ),
    "date_type": _NOT_A_DATE,
    "date_parsing": _NOT_A_DATE,
    "date_from_datetime_parsing": _NOT_A_DATE,
    "date_from_datetime_inexact": _NOT_A_DATE,
    "int_type": ("not a whole number", "", _DIGITS),
    "int_parsing_size": ("not a whole number", "", _DIGITS),
    "float_type": ("not a number", "", _DIGITS),
    "bool_type": ("not a yes or no", "", "write true or false, without quotes"),
    "tuple_type": ("not a list", "", "begin every item with “- ”, or put them in brackets"),
    "dict_type": ("not a mapping", "", "write “name: value” lines below it, indented"),
    "model_type": ("not a mapping", "", "write its keys below it, indented"),
}
"""What is wrong, what was expected (where it does not follow from the place) and what to do, by kind of error."""


def explained(error: ErrorDetails, data: Any) -> Mistake | None:
    """One mistake that pydantic found, in plain words.

    Parameters
    ----------
    error : ErrorDetails
        As ``ValidationError.errors()`` lists it.
    data : object
        The document's values.

    Returns
    -------
    Mistake or None
        None where the error only follows from others of the same list.
    """
    location: Location = error["loc"]
    kind, context, value = error["type"], error.get("ctx", {}), value_at(data, location)
    if location[-1:] == ("[key]",):
        mistake = Mistake(location[:-1], "an unusable name", "1 to 2000 characters of text", "another", "rename it")
    elif kind == "missing":
        mistake = _missing(location)
    elif kind == "extra_forbidden":
        mistake = _unknown_key(location)
    elif kind == "value_error":
        mistake = _broken_rule(location, str(context["error"]), value)
    elif kind == "too_short" and isinstance(value, list) and len(value) >= context["min_length"]:
        return None
    elif value is None:
        mistake = Mistake(location, "no value", _described_type(location), "nothing", "fill in the value")
    else:
        mistake = _wrong_value(kind, context, location, value)
    return mistake


def _missing(location: Location) -> Mistake:
    return Mistake(location, "a missing key", _described_type(location), "nothing", f"add “{location[-1]}: …”")


def _unknown_key(location: Location) -> Mistake:
    model = model_at(location[:-1])
    names = [] if model is None else list(model.model_fields)
    key = str(location[-1])
    closest = difflib.get_close_matches(key, names, n=1)
    got = "another key" if location[0] == "attributes" else f"“{printable(key)}”"
    fix = f"did you mean “{closest[0]}”?" if closest else "remove the key, or move it to where it belongs"
    return Mistake(location, "an unknown key", _either(names), got, fix, at_key=True)


def _wrong_value(kind: str, context: Mapping[str, Any], location: Location, value: object) -> Mistake:
    what, expected, fix = _WRONG.get(kind, ("the wrong kind of value", "", "write the kind that is expected"))
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        expected = f"a number {words} {_plain(context[name])}"
    elif kind in ("enum", "literal_error"):
        fix = _suggestion(value, location)
    elif kind == "string_type" and not isinstance(value, int | float):
        fix = "write one text in place of it"
    elif kind == "string_too_long":
        expected = f"at most {context['max_length']} characters"
    elif kind == "int_type" and isinstance(value, float):
        fix = "write it without a decimal point"
    return Mistake(location, what, expected or _described_type(location), described(value, shows_value(location)), fix)


def _suggestion(value: object, location: Location) -> str:
    choices = _choices(annotation_at(location))
    closest = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.4)
    return f"did you mean “{closest[0]}”?" if closest else "take one of the choices"


def _described_type(location: Location) -> str:
    """What belongs at a place: its kind, and what the model says of it."""
    annotation = annotation_at(location)
    parent = model_at(location[:-1]) if location else None
    field = None if parent is None else parent.model_fields.get(str(location[-1]))
    description = "" if field is None or not field.description else f" — {field.description.rstrip('.')}"
    return _kind_of(annotation) + description


def _kind_of(annotation: Any) -> str:
    choices = _choices(annotation)
    if choices:
        return _either(choices)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        names = [name for name, field in annotation.model_fields.items() if field.is_required()]
        return "a mapping" + (f" with {_all_of(names)}" if names else f" of {_either(list(annotation.model_fields))}")
    origin = get_origin(annotation) or annotation
    return _KINDS.get(origin, getattr(origin, "__name__", "a value").lower())


def _choices(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return [choice.value for choice in annotation]
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return []


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" or {names[-1]}"


def _all_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number}"


def _broken_rule(location: Location, message: str, value: object) -> Mistake:
    """A rule that relates several keys; the model's own message says what it asks."""
    for sign, explain in RULES.items():
        if sign in message:
            step, got, fix = explain(value)
            return Mistake((*location, *step), "a rule of the request is broken", message, got, fix)
    return Mistake(location, "a rule of the request is broken", message, "something else", "change the part to fit")


Explanation = tuple[Location, str, str]


def _repeated(items: Sequence[Mapping[str, Any]], key: str) -> int:
    seen = [item[key] for item in items]
    return next(index for index, value in enumerate(seen) if value in seen[:index])


def _two_gates(policy: Any) -> Explanation:
    index = _repeated(policy["gates"], "measure")
    return ("gates", index, "measure"), f"{policy['gates'][index]['measure']} again", "keep one gate for the measure"


def _two_recipients(request: Any) -> Explanation:
    index = _repeated(request["recipients"], "id")
    got = f"“{request['recipients'][index]['id']}” again"
    return ("recipients", index, "id"), got, "give every recipient an id of its own"


def _certain_recipient(request: Any) -> Explanation:
    index = next(index for index, one in enumerate(request["recipients"]) if one.get("uncertain") is None)
    fix = "declare under “uncertain” what is known of the recipient's terms, or remove the gate"
    return ("recipients", index, "uncertain"), "none", fix


def _given(part: Any) -> str:
    names = [name for name in ("file", "intervals", "prefixes", "groups") if part.get(name) is not None]
    return _all_of(names) if names else "none of them"


def _wrong_side(gate: Any) -> Explanation:
    given = [side for side in ("at_most", "at_least") if gate.get(side) is not None]
    fix = "set “at_least” where more is better, as for a class size or kept information; “at_most” for every risk"
    return (), _all_of(given) if given else "neither at_most nor at_least", fix


def _threshold(gate: Any) -> Explanation:
    side = "at_least" if gate.get("at_least") is not None else "at_most"
    return (side,), f"the number {gate[side]}", "correct the threshold; a risk or share of 9 % is written 0.09"


def _record_id(request: Any) -> Explanation:
    name = request["dataset"]["record_id"]
    declared = request["attributes"].get(name)
    got = "a name that is not among the attributes" if declared is None else f"the role “{declared['role']}”"
    return ("dataset", "record_id"), got, "name the column that numbers the records and give it that role"


def _widths(levels: Any) -> Explanation:
    return ("widths",), ", ".join(str(width) for width in levels["widths"]), "take widths such as 5, 10, 20"


def _nested_widths(source: Any) -> Explanation:
    place, got, fix = _widths(source["intervals"])
    return ("intervals", *place), got, f"{fix}, or add “levels_may_cross: true” if that is meant"


def _first_decoys(request: Any) -> Location:
    """Place of the first decoys that a request asks for."""
    for place, recipient in enumerate(request["recipients"]):
        if recipient.get("decoys"):
            return ("recipients", place, "decoys")
    return ("continues",)


def _needs_trees(request: Any) -> Location:
    """Place of the term of the policy that levels which cross cannot have."""
    terms = request["policy"]["generalization"]
    name = next(name for name in ("k_anonymity", "budget", "collusion") if terms.get(name) is not None)
    return ("policy", "generalization", name)


def _lengths(levels: Any) -> Explanation:
    return ("keep",), ", ".join(str(length) for length in levels["keep"]), "take lengths such as 4, 3, 2"


def _masked_place(request: Any, wrong: Callable[[Any], bool]) -> Location:
    """Place of the first masked attribute whose declaration is wrong."""
    for number, masking in enumerate(request["masking"]):
        for place, name in enumerate(masking["attributes"]):
            if wrong(request["attributes"].get(name)):
                return ("masking", number, "attributes", place)
    return ("masking",)


def _first_withheld(request: Any) -> Location:
    """Place of the first attribute that the intruder is said to know and that does not leave."""
    for place, name in enumerate(request["policy"]["linkage"]["known"]):
        if request["attributes"].get(name, {}).get("role", Role.DIRECT) == Role.DIRECT:
            return ("policy", "linkage", "known", place)
    return ("policy", "linkage", "known")


def _first_unfit(request: Any) -> Location:
    """Place of the first demand on an attribute that cannot have one."""
    for kind in ("diversity", "closeness"):
        for place, demand in enumerate(request["policy"]["generalization"]["k_anonymity"].get(kind) or ()):
            role = request["attributes"].get(demand["attribute"], {}).get("role", Role.DIRECT)
            if role in (Role.DIRECT, Role.QUASI):
                return ("policy", "generalization", "k_anonymity", kind, place, "attribute")
    return ("policy", "generalization", "k_anonymity")


def _no_public_key(text: str) -> Explanation:
    """What stands in place of a public key, by its beginning alone."""
    first = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if first.startswith("age1"):
        got = "one that begins like it and is cut short, mistyped, of a plugin, or of a value that keeps nothing secret"
    elif first.startswith(("ssh-ed25519", "ssh-rsa")):
        got = "one that is cut short, mistyped, too short, or of a value that keeps nothing secret"
    elif first.startswith(("ssh-", "ecdsa-", "sk-")):
        got = "an SSH key of another kind"
    else:
        got = "something else, which is not repeated here"
    return (), got, "copy the whole line that the recipient gives you, and compare its fingerprint with theirs"


RULES: dict[str, Callable[[Any], Explanation]] = {
    "a public key of age": _no_public_key,
    "encrypt_to names each key once": lambda _: (("encrypt_to",), "a key twice", "remove the repetition"),
    "minimum_risk_factor must not exceed": lambda _: (
        ("minimum_risk_factor",),
        "a greater number",
        "correct the band of risk factors",
    ),
    "recursive diversity takes c": lambda demand: (
        (),
        "no c" if demand.get("c") is None else f"c for {demand.get('kind', 'distinct')} diversity",
        "give c to recursive diversity, and to no other",
    ),
    "l is a whole number": lambda demand: (("l",), f"the number {demand['l']}", "round it up, or ask for entropy"),
    "the method k-anonymity needs": lambda _: (
        ("policy",),
        "a recipient whose method is k-anonymity, without its terms",
        "add “k_anonymity: {k: 5}” under policy.generalization",
    ),
    "diversity and closeness are of columns": lambda request: (
        _first_unfit(request),
        "another column",
        "name a sensitive or insensitive attribute of the request",
    ),
    "maximum must be greater than minimum": lambda _: (("maximum",), "a smaller or equal number", "correct the bounds"),
    "the domain must hold at most": lambda _: (("maximum",), "more", "take narrower bounds, or a hierarchy file"),
    "each width must be a larger multiple": _nested_widths,
    "each width must be larger than": _widths,
    "levels by prefixes never cross": lambda _: (
        ("levels_may_cross",),
        "levels_may_cross: true beside prefixes",
        "remove it",
    ),
    "where levels may cross there is no k_anonymity": lambda request: (
        _needs_trees(request),
        "one of them beside a hierarchy with levels_may_cross",
        "remove it, or make the hierarchy a tree and remove levels_may_cross",
    ),
    "where levels may cross there are no decoys": lambda request: (
        _first_decoys(request),
        "decoys beside a hierarchy with levels_may_cross",
        "remove them, or make the hierarchy a tree and remove levels_may_cross",
    ),
    "the kept lengths must shrink": _lengths,
    "give exactly one of file": lambda part: ((), _given(part), "keep one of them"),
    "a quasi-identifier needs a hierarchy": lambda _: (
        (),
        "no hierarchy",
        "add “hierarchy:” with file, intervals, prefixes or groups, or change the role",
    ),
    "only a quasi-identifier has a hierarchy": lambda part: (
        ("hierarchy",),
        f"a hierarchy for the role “{part['role']}”",
        "remove the hierarchy, or make the attribute a quasi-identifier",
    ),
    "only a sensitive attribute has sensitivity": lambda part: (
        ("sensitivity",),
        f"weights for the role “{part['role']}”",
        "remove the weights, or make the attribute sensitive",
    ),
    "a direct identifier never leaves": lambda _: (
        ("known_probability",),
        "a probability",
        "remove it, or give the attribute the role it has for an adversary",
    ),
    "sensitivity.values names values": lambda _: (
        ("sensitivity",),
        "a weight for another value",
        "spell the values as in allowed_values, or add them there",
    ),
    "minimum must not exceed maximum": lambda _: (("minimum",), "a greater number", "correct the bounds"),
    "and only that": _wrong_side,
    "the threshold of": _threshold,
    "two gates judge the same measure": _two_gates,
    "gates that may be overridden need": lambda _: (
        ("officers",),
        "none",
        "name an officer, or remove “overridable”",
    ),
    "policy.review.overridable names": lambda _: (
        ("review", "overridable"),
        "a measure that no gate judges",
        "name measures of gates under policy.gates, or add the gate",
    ),
    "continues supersedes the version": lambda _: (
        ("supersedes",),
        "another release",
        "remove “supersedes”; to take the place of another release, make a request without “continues”",
    ),
    "names one person twice": lambda _: (
        (),
        "two names that differ in case or spaces at most",
        "name each person once",
    ),
    "policy.reassessment.together names one recipient twice": lambda _: (
        ("together",),
        "one id twice in a set",
        "name each recipient of a set once",
    ),
    "at least one gate must judge a transparent": lambda _: (
        ("gates",),
        "gates of other measures only",
        f"add a gate for {Measure.TRANSPARENT_MAXIMUM.value}, such as at_most: 0.09",
    ),
    "penalty and detection_rate go together": lambda agreement: (
        (),
        "only the penalty" if agreement.get("detection_rate") is None else "only the detection_rate",
        "give both, or leave out both where the agreement names no penalty",
    ),
    "a penalty needs detection": lambda _: (
        ("adversary", "penalty"),
        "a penalty that is never due",
        "give adversary.detection_intercept, or penalty and detection_rate in the agreement",
    ),
    "an uncertain term has the parameters of its kind": lambda _: (
        (),
        "others, or not all of them",
        "give low and high, and what the kind takes besides: mode; mean and deviation; for points, values and weights",
    ),
    "points have each value once": lambda _: (
        ("weights",),
        "another number of weights, or one value twice",
        "give each value once and its weight at the same place",
    ),
    "low of an uncertain term": lambda _: (("low",), "a low that is not below its high", "correct the ends"),
    "mode of an uncertain term": lambda _: (("mode",), "a mode outside the ends", "correct the mode or the ends"),
    "uncertain names at least one term": lambda _: ((), "none", "name a term, or remove “uncertain”"),
    "an uncertain term stays within the range": lambda _: (
        (),
        "an end outside its range",
        "keep prior and detection between 0 and 1, neither of them, penalty and costs of planning from 0, the slope of "
        "detection from -700 to 700, all other terms above 0",
    ),
    "an uncertain penalty needs detection": lambda _: (
        ("uncertain",),
        "one of them alone",
        "declare the other in the agreement, or make it uncertain too",
    ),
    "within a budget a map of penalties": lambda _: (
        ("sensitivity", "penalties"),
        "more",
        "name fewer penalties or detections, as 3 and 3, or remove the budget",
    ),
    "ascend, each value once": lambda _: (
        (),
        "a value that is not above the one before it",
        "give each value once, the smallest first",
    ),
    "two recipients have one id": _two_recipients,
    "policy.generalization.budget has a limit": lambda _: (
        (),
        "none",
        "name a limit, or remove the budget",
    ),
    "a budget and k_anonymity exclude each other": lambda _: (
        ("budget",),
        "both",
        "remove one; a partition's budget can have least_records and least_people",
    ),
    "minimum_class_size would leave out more than the budget does": lambda _: (
        ("minimum_class_size",),
        "more than 1, beside a limit on suppression or utility",
        "remove minimum_class_size, or play a partition with budget.least_records",
    ),
    "a budget is of the per-record methods and the partitions": lambda _: (
        ("policy", "generalization", "budget"),
        "a recipient with another method",
        "give each recipient basic, no-attack, sh-friendly or a partition, or remove the budget",
    ),
    "budget.least_records is of the partitions": lambda _: (
        ("policy", "generalization", "budget", "least_records"),
        "a recipient with a strategy for each record",
        "give each recipient a partition, or remove the limit",
    ),
    "budget.utility_floor names quasi-identifiers": lambda _: (
        ("policy", "generalization", "budget", "utility_floor"),
        "another attribute",
        "name quasi-identifiers of the request",
    ),
    "adversary_belief is of the sequential adversary": lambda _: (
        ("adversary_belief",),
        "a belief of one who makes one attempt",
        "set adversary: sequential, or remove the belief",
    ),
    "policy.generalization.shared takes recipients or types": lambda _: (
        (),
        "both, or neither",
        "name the recipients who all get the representation, or the types of whom one does",
    ),
    "policy.generalization.shared names each recipient once": lambda _: (
        ("recipients",),
        "one id twice",
        "name each recipient once",
    ),
    "policy.generalization.shared.types are probabilities": lambda _: (
        ("types",),
        "another sum",
        "give each type its probability, so that they sum to 1",
    ),
    "policy.generalization.shared names recipients of the request": lambda _: (
        ("policy", "generalization", "shared"),
        "another id",
        "spell the ids as under recipients",
    ),
    "recipients who share a representation have one method": lambda _: (
        ("policy", "generalization", "shared"),
        "recipients with different methods",
        "give them one method, or leave some out",
    ),
    "policy.generalization.collusion names each recipient once": lambda _: (
        ("recipients",),
        "one id twice",
        "name each recipient once",
    ),
    "collusion and a shared representation exclude each other": lambda _: (
        ("collusion",),
        "both",
        "remove one of them; copies that certainly come together are best shared",
    ),
    "collusion and a budget exclude each other": lambda _: (
        ("collusion",),
        "both",
        "remove one of them; limits of a whole file are of files that nobody lays beside others",
    ),
    "policy.generalization.collusion names recipients of the request": lambda _: (
        ("policy", "generalization", "collusion"),
        "another id",
        "spell the ids as under recipients",
    ),
    "collusion is of at most 6 recipients": lambda request: (
        ("policy", "generalization", "collusion", "recipients"),
        f"{len(request['recipients'])}",
        "name up to six who may collude, or give all of them one representation (shared)",
    ),
    "recipients who may collude have one method": lambda _: (
        ("policy", "generalization", "collusion"),
        "recipients with different methods",
        "give them one method, or leave some out",
    ),
    "collusion is of the per-record methods and the partitions": lambda _: (
        ("policy", "generalization", "collusion"),
        "recipients with another method",
        "give them basic, no-attack, sh-friendly or a partition, or remove collusion",
    ),
    "collusion is of at most 4 recipients with a partition": lambda _: (
        ("policy", "generalization", "collusion", "recipients"),
        "more",
        "name up to four, or give them basic, no-attack or sh-friendly",
    ),
    "under collusion a gate judges what is measured": lambda _: (
        ("policy", "gates"),
        "a gate on linkage other than by masked numbers, which is measured of one copy alone",
        "remove the gate, or give the recipients one representation (shared)",
    ),
    "dataset.record_id must name an attribute": _record_id,
    "at least one attribute must be a quasi-identifier": lambda _: (
        ("attributes",),
        "none",
        "give the role to the attributes that a recipient could know of a person, with their hierarchies",
    ),
    "a gate judges uncertain.passing_probability": _certain_recipient,
    "a gate judges a combined": lambda _: (
        ("policy", "gates"),
        "nothing that such a score could weigh",
        "give the attributes that tell something private the role “sensitive”, or remove the gate",
    ),
    "takes the parameter": lambda masking: (
        (),
        _all_of([name for name in ("p", "buckets", "k", "noise") if masking.get(name) is not None] or ["none"]),
        "give the method its own parameter and remove the others",
    ),
    "reading is a parameter of rank-swapping": lambda masking: (
        ("reading",),
        f"a reading for {masking['method']}",
        "remove it, or mask by rank-swapping",
    ),
    "a masking names each attribute once": lambda _: (("attributes",), "a repeated name", "name each once"),
    "masking names attributes": lambda request: (
        _masked_place(request, lambda attribute: attribute is None),
        "another name",
        "spell the column as under attributes",
    ),
    "masking changes numbers": lambda request: (
        _masked_place(
            request,
            lambda attribute: (
                attribute is not None and attribute.get("type") not in (ValueType.INTEGER, ValueType.NUMBER)
            ),
        ),
        "a column of another type",
        "declare its type, or leave it out; a quasi-identifier is generalized along its hierarchy instead",
    ),
    "masking takes sensitive or insensitive": lambda request: (
        _masked_place(
            request,
            lambda attribute: attribute is not None and attribute.get("role") in (Role.DIRECT, Role.QUASI),
        ),
        "another role",
        "leave it out: a direct identifier never leaves, and a quasi-identifier is generalized",
    ),
    "an attribute is masked by one method at most": lambda _: (("masking",), "a column twice", "name it in one place"),
    "policy.linkage.known names": lambda request: (
        _first_withheld(request),
        "a name that is not among the columns that leave",
        "name quasi-identifiers, sensitive or insensitive attributes",
    ),
    "policy.utility.target names": lambda _: (
        ("policy", "utility", "target"),
        "a name that is not among the columns that leave",
        "name a quasi-identifier, a sensitive or an insensitive attribute",
    ),
    "dataset and population must be different": lambda _: (
        ("population", "path"),
        "one file for both",
        "name the table of population counts",
    ),
    "dataset and external_data must be different": lambda _: (
        ("external_data", "path"),
        "one file for both",
        "name the register's table of counts",
    ),
}
"""What the model's validators say, by the words that tell them apart, and how to explain each."""
