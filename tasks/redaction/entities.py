r"""Kinds of identifiers that are replaced in text, and the expressions that find them.

The expressions are those of the scans (``tasks.validation.patterns``), which only say whether a cell has an identifier,
and some that a scan of codes could not have, since they take too much: in text it costs little to replace a number or a
month that identifies nobody. All are of RE2. What an expression finds is replaced up to the ends of its words, so that
one that finds the beginning of a number is enough.

=======  ===================================================================================================
kind     replaced, beside what the scans find
=======  ===================================================================================================
DATE     day and month without a year; month and year; day and month in digits after a word such as “on”
AGE      every age, not only those over 89: it is mostly a quasi-identifier
PHONE    numbers with an international prefix or a trunk zero, assigned or not; numbers after a word such as “tel”
ID       any run of five digits or more; nine digits or more in groups; three groups joined by hyphens, or two of
         which the first has four; forms of national numbers, without the check of their digits
ADDRESS  house number, capitalized words and any kind of street that the US postal service abbreviates; apartments
=======  ===================================================================================================
"""

from enum import StrEnum

from tasks.request.model import PatternName
from tasks.validation.patterns import MONTH_NAME, TEXT_PATTERNS
from tasks.validation.verified import VERIFIED


class Entity(StrEnum):
    """A kind of what is replaced."""

    EMAIL = "e-mail address"
    URL = "web or IP address"
    DATE = "date"
    PHONE = "phone number"
    ID = "number or identifier"
    ADDRESS = "address"
    AGE = "age"
    NAME = "name"
    VALUE = "value of a quasi-identifier"
    RARE = "rare capitalized word"

    @property
    def placeholder(self) -> str:
        """Text that stands for it."""
        return f"[{self.name}]"


ENTITIES = tuple(Entity)
"""In the order in which kinds are sought; a word is of the first that has it. Codes count from 1."""

_DIGIT_BEFORE, _DIGIT_AFTER = "(?:^|[^0-9])", r"(?:\z|[^0-9])"
_DAY, _MONTH = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
_DATES = (
    f"(?i){_DIGIT_BEFORE}{_DAY}(?:st|nd|rd|th)?[ .-]{{1,2}}(?:of )?{MONTH_NAME}(?:[^A-Za-z]|\\z)",
    f"(?i)(?:^|[^A-Za-z]){MONTH_NAME}[ .-]{{1,2}}{_DAY}(?:st|nd|rd|th)?(?:[^0-9A-Za-z]|\\z)",
    f"(?i)(?:^|[^A-Za-z]){MONTH_NAME}[ .,'’/-]{{1,2}}(?:of )?(?:(?:19|20)[0-9]{{2}}|['’][0-9]{{2}}){_DIGIT_AFTER}",
    f"(?i)(?:^|[^A-Za-z])(?:on|since|from|dated?|until|till|by|after|before|due)[ :]{{1,2}}"
    f"(?:{_MONTH}[/.]{_DAY}|{_DAY}[/.]{_MONTH})(?:\\z|[^0-9/.]|\\.(?:\\z|[^0-9]))",
)
_OVER_89 = "(?:9[0-9]|1[0-2][0-9])"
_AGES = (
    TEXT_PATTERNS[PatternName.AGE_OVER_89].replace(_OVER_89, "[0-9]{1,3}"),
    r"(?i)(?:^|[^0-9.,/])[0-9]{1,3}[ -]?(?:month|week|day)s?[ -]old",
    r"(?:^|[^0-9A-Za-z.,/])[1-9][0-9][ -]?(?:[MF]|yr|y)(?:\z|[^0-9A-Za-z])",
)
_GAP = r"[ ./()\x{00A0}\x{2010}-\x{2014}-]"
_PHONES = (
    rf"(?:^|[^0-9A-Za-z.,+])(?:\+|00|\(?0)[1-9](?:{_GAP}{{0,3}}[0-9]){{6,13}}{_DIGIT_AFTER}",
    r"(?:^|[^0-9A-Za-z.,+-])(?:[0-9]{3}|0[0-9]{2,4})-[0-9]{4,8}(?:\z|[^0-9A-Za-z-])",
    rf"{_DIGIT_BEFORE}(?:\([0-9]{{3}}\) ?|[0-9]{{3}}[-. ])[0-9]{{3}}[-. ][0-9]{{4}}{_DIGIT_AFTER}",
    r"(?i)(?:phone|tel|cell|mobile|fax|pager|call(?:ed)?)[a-z]{0,6}\.?(?: ?(?:nr|no|number|at|on|is))?\.?[ :#]{0,3}"
    r"[+0-9(][0-9 ()./-]{2,17}[0-9]",
)
_NUMBERS = (
    "[0-9]{5}",
    f"{_DIGIT_BEFORE}[0-9](?:[ -]?[0-9]){{8}}",
    f"{_DIGIT_BEFORE}[0-9]{{2,}}-[0-9]{{2,}}-[0-9]{{2,}}",
    f"{_DIGIT_BEFORE}[0-9]{{4,}}-[0-9]{{2,}}",
)
_STREET = (
    "(?i:alley|aly|annex|arcade|bayou|beach|bend|bluff|branch|bridge|brook|bypass|camp|canyon|causeway|center|cliff|"
    "common|corner|corners|course|cove|creek|crossing|crossroad|curve|dale|divide|estates?|expressway|expy|falls|ferry|"
    "fields?|flats?|ford|forest|fork|freeway|fwy|glen|green|harbor|haven|heights|hts|hills?|hollow|island|junction|key|"
    "knolls?|lakes?|landing|loop|manor|meadows?|mews|mill|mount|mountain|oval|park|pass|path|pike|pines?|plain|plaza|"
    "plz|point|prairie|ranch|rapids|ridge|river|row|run|shores?|springs?|station|summit|terrace|trace|track|"
    "turnpike|tpke|union|valley|view|village|vista|walk|wells?)"
)
_ADDRESSES = (
    r"(?:^|[^0-9A-Za-z/])[0-9]{1,6}[A-Za-z]?,? (?:[NSEW]{1,2}\.? )?(?:[A-Z][A-Za-z'’.-]* ){1,4}"
    + _STREET
    + r"(?:\z|[^A-Za-z])",
    r"(?i:(?:^|[^A-Za-z])(?:apt|apartment|suite|ste)\.? ?#?[0-9]{1,5}[a-z]?(?:\z|[^0-9a-z]))",
)

EXPRESSIONS: tuple[tuple[Entity, str], ...] = tuple(
    (entity, expression.replace(r"\Z", r"\z"))
    for entity, expressions in {
        Entity.EMAIL: (TEXT_PATTERNS[PatternName.EMAIL],),
        Entity.URL: (TEXT_PATTERNS[PatternName.URL], TEXT_PATTERNS[PatternName.IP]),
        Entity.DATE: (TEXT_PATTERNS[PatternName.FULL_DATE], *_DATES),
        Entity.PHONE: (TEXT_PATTERNS[PatternName.PHONE], *_PHONES),
        Entity.ID: (
            TEXT_PATTERNS[PatternName.SSN],
            TEXT_PATTERNS[PatternName.MEDICAL_RECORD_NUMBER],
            VERIFIED[PatternName.NATIONAL_ID][0],
            *_NUMBERS,
        ),
        Entity.ADDRESS: (
            TEXT_PATTERNS[PatternName.POSTAL_ADDRESS],
            TEXT_PATTERNS[PatternName.COORDINATES],
            *_ADDRESSES,
        ),
        Entity.AGE: _AGES,
        Entity.NAME: (TEXT_PATTERNS[PatternName.NAME],),
    }.items()
    for expression in expressions
)
