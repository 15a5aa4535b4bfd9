r"""Patterns of direct identifiers, as regular expressions with a stated scope.

The scan looks for identifiers that slipped into a column, not for ones that were hidden: it errs on the side of
finding, and a column where it finds wrongly opts out with ``scan: false``, which is recorded.

All expressions mean the same to RE2 (linear in the length of a cell) and to Python's ``re``, between which pandas
chooses by the data: no look-around, no back-references, no classes that depend on Unicode, no capturing groups, ``\Z``
for the end. A boundary is therefore a character that is consumed.

===========================  ==========================================================  ===============================
pattern                      found                                                       left alone
===========================  ==========================================================  ===============================
e-mail address               ``local@host.domain``, also in other scripts                no dot in the host; a handle
phone number                 North American numbers with area code, with or without      seven digits without a word
                             separators and +1; any number that starts with + and has    such as “phone” before them;
                             8 to 15 digits; seven digits after a word such as “phone”   decimals
social security number       SSN and ITIN with any separator, or each digit apart; nine  areas 000, 666; group 00;
                             bare digits that a valid SSN can have                       serial 0000; ZIP+4
IP address                   four octets up to 255; IPv6 in full, or shortened with ::   versions of 3 or 5 parts or
                             in 2000::/3, fc00::/7 and fe80::/10                         after a letter; clock times
web address                  with a scheme; ``www.``; a common domain with a path        “and/or”; a domain alone
medical record number        MRN and at least 3 digits; record, chart, patient, case,    such words without a number
                             account and like numbers with at least 5 digits, also in
                             German, French and Spanish
full date                    day, month and year in the common orders and separators,    year; month and year; day and
                             month names in English, German, French and Spanish,         month without a year
                             ``YYYYMMDD``; “first Monday of March” in English
name                         after a title, a kinship or a label such as “name:”; in     words in small letters
                             English, German, French and Spanish
postal address               house number and street in the forms of these languages;    a town alone
                             post office box; US state and ZIP code
coordinates                  latitude and longitude in decimals or degrees and minutes;  pairs with few decimals
                             after a label
age over 89                  90 to 129 before “years old” and the like or after “aged”   “90+”; other numbers
===========================  ==========================================================  ===============================

``tasks.validation.verified`` finds what an expression alone cannot: phone numbers of other countries, account numbers
and national identification numbers by their check digits. ``tasks.validation.names`` finds names by lists of names.
"""

from tasks.request.model import PatternName

_HYPHEN = r"\-‐‑‒–—"
_NO_BREAK = "\u00a0"
_SPACE = f" \\t\\n\\r\\f\\v{_NO_BREAK}"
_SEPARATOR = f"(?: ?[{_HYPHEN}./] ?|[ {_NO_BREAK}])"
_NOT_IN_NUMBER_BEFORE = "(?:^|[^0-9A-Za-z.,]|(?:^|[^0-9])[.,])"
_NOT_IN_NUMBER_AFTER = "(?:\\Z|[^0-9A-Za-z.,]|[.,](?:\\Z|[^0-9]))"
_NO_DIGIT_BEFORE = "(?:^|[^0-9])"
_NO_DIGIT_AFTER = "(?:\\Z|[^0-9])"
_NO_WORD_BEFORE = "(?:^|[^0-9A-Za-z])"


def _any(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


_EMAIL = rf"[^{_SPACE}@]@(?:[^{_SPACE}@.,;:/]+\.)+[^{_SPACE}@.,;:/0-9]{{2,}}"

_AREA = "[2-9][0-9]{2}"
_BARE_PHONE = f"1?{_AREA}{_AREA}[0-9]{{4}}"
_PHONE = "(?i)" + _any(
    f"{_NOT_IN_NUMBER_BEFORE}(?:1{_SEPARATOR}?)?"
    + _any(rf"\({_AREA}\) ?{_AREA}{_SEPARATOR}?", f"{_AREA}{_SEPARATOR}{_AREA}{_SEPARATOR}")
    + f"[0-9]{{4}}{_NO_DIGIT_AFTER}",
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_PHONE}{_NOT_IN_NUMBER_AFTER}",
    rf"{_NO_WORD_BEFORE}\+(?:[0-9][ ().{_HYPHEN}{_NO_BREAK}]{{0,3}}){{7,14}}[0-9]{_NO_DIGIT_AFTER}",
    "(?:^|[^A-Za-z])(?:tel|(?:tele|cell ?)?phone|ph|mobile|fax|call(?:ed)?)[^0-9A-Za-z]{0,3}(?:no|number|at|on)?"
    f"[^0-9A-Za-z]{{0,3}}{_AREA}{_SEPARATOR}?[0-9]{{4}}{_NO_DIGIT_AFTER}",
)

_SSN_AREA = "(?:00[1-9]|0[1-9][0-9]|[1-578][0-9]{2}|6[0-57-9][0-9]|66[0-57-9])"
_SSN_GROUP = "(?:0[1-9]|[1-9][0-9])"
_SSN_SERIAL = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_BARE_SSN = f"{_SSN_AREA}{_SSN_GROUP}{_SSN_SERIAL}"
_SSN_SEPARATOR = f" ?[{_HYPHEN} .,:;/_|·*~{_NO_BREAK}] ?"
_SPACED_SSN = "(?:[0-8] (?:[0-9] ){7}[0-9])"
_ITIN = f"9[0-9]{{2}}{_SSN_SEPARATOR}(?:5[0-9]|6[0-5]|7[0-9]|8[0-8]|9[0-24-9]){_SSN_SEPARATOR}[0-9]{{4}}"
_SSN = _any(
    f"{_NO_DIGIT_BEFORE}"
    + _any(f"{_SSN_AREA}{_SSN_SEPARATOR}{_SSN_GROUP}{_SSN_SEPARATOR}{_SSN_SERIAL}", _ITIN)
    + _NO_DIGIT_AFTER,
    "(?:^|[^0-9 ]|[^0-9] )" + _SPACED_SSN + "(?:\\Z|[^0-9 ]| (?:\\Z|[^0-9]))",
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_SSN}{_NOT_IN_NUMBER_AFTER}",
)

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_HEX = "[0-9A-Fa-f]{1,4}"
_IP = _any(
    rf"(?:^|[^0-9A-Za-z.]|(?:^|[^0-9])\.)(?:{_OCTET}\.){{3}}{_OCTET}(?:\Z|[^0-9A-Za-z.]|\.(?:\Z|[^0-9]))",
    "(?:^|[^0-9A-Za-z:])"
    + _any(
        f"(?:{_HEX}:){{7}}{_HEX}",
        f"(?:[23][0-9A-Fa-f]{{3}}|[fF][cCdD][0-9A-Fa-f]{{2}}|[fF][eE][89aAbB][0-9A-Fa-f])"
        f"(?::{_HEX}){{0,6}}::(?:{_HEX}(?::{_HEX}){{0,6}})?",
    )
    + "(?:\\Z|[^0-9A-Za-z:])",
)

_URL = (
    "(?i)"
    + _NO_WORD_BEFORE
    + _any(
        r"(?:https?|s?ftp|file)://[^ ]",
        r"www\.[0-9a-z-]+\.[a-z]{2,}",
        r"(?:[0-9a-z-]+\.)+(?:com|org|net|edu|gov|mil|info|io|me|us|co)/[^ ]",
    )
)

_MEDICAL_RECORD_NUMBER = (
    "(?i)"
    + _NO_WORD_BEFORE
    + _any(
        rf"m\.?r\.?n\.?(?: ?(?:no|number|id)\.?)?(?: is)?[{_SPACE}:#.=-]*[a-z]{{0,4}}-?[0-9]{{3}}",
        _any(
            r"med(?:ical)?\.? ?rec(?:ord)?s?\.?(?: ?(?:no|num|number|nr|id|#)\.?)?",
            r"(?:chart|patient|hospital|encounter|account|acct|member|case|health plan|policy|licen[cs]e|passport)\.? ?"
            r"(?:no|num|number|nr|id|#)\.?",
            r"(?:patienten|fall|akten|versicherten|kranken|konto|ausweis|aufnahme)[ -]?(?:nr|nummer|kennung|id|"
            r"zeichen)\.?",
            r"(?:n°|nº|no\.?|num[ée]ro|n[uú]mero) (?:de |du )?"
            r"(?:dossier|patient|paciente|historia|expediente|s[ée]curit[ée] sociale|cuenta|compte)",
            r"(?:historia cl[ií]nica|expediente|nhc|ipp)(?: n[°ºo]\.?)?",
        )
        + f"(?: is)?[{_SPACE}:#.=-]*[a-z]{{0,4}}-?[0-9](?:-?[0-9]){{4}}",
    )
)

_YEAR = "(?:1[89]|20)[0-9]{2}"
_MONTH = "(?:0?[1-9]|1[0-2])"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"
_ZERO_DAY = "(?:0[1-9]|[12][0-9]|3[01])"
_ZERO_MONTH = "(?:0[1-9]|1[0-2])"
_DATE_SEPARATOR = f"[{_HYPHEN}/.]"
MONTH_NAME = _any(
    "jan(?:uary|uar|v|vier)?|j[aä]n(?:ner)?|feb(?:ruary|ruar|rero)?|f[ée]vr?(?:ier)?|mar(?:ch|s|zo)?|m(?:ä|ae)rz?",
    "apr(?:il)?|avr(?:il)?|abr(?:il)?|may|mai|mayo|june?|juni|juin|junio|july?|juli|juil(?:let)?|julio",
    "aug(?:ust)?|ao[uû]t|ago(?:sto)?|sep(?:t(?:ember|embre|iembre)?)?|setiembre|o[ck]t(?:ober|obre|ubre)?",
    "nov(?:ember|embre|iembre)?|de[cz](?:ember)?|d[ée]c(?:embre)?|dic(?:iembre)?|ene(?:ro)?",
)
_ORDINAL = "(?:st|nd|rd|th|er|º|\\.)?"
_BARE_DATE = "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:T?[0-2][0-9][0-5][0-9](?:[0-5][0-9])?Z?)?"
_FULL_DATE = "(?i)" + _any(
    f"{_NO_DIGIT_BEFORE}{_YEAR}{_DATE_SEPARATOR}{_MONTH}{_DATE_SEPARATOR}{_DAY}{_NO_DIGIT_AFTER}",
    _NO_DIGIT_BEFORE
    + _any(f"{_MONTH}{_DATE_SEPARATOR}{_DAY}", f"{_DAY}{_DATE_SEPARATOR}{_MONTH}")
    + f"{_DATE_SEPARATOR}{_YEAR}{_NO_DIGIT_AFTER}",
    f"{_NO_DIGIT_BEFORE}{_YEAR} [01][0-9] [0-3][0-9]{_NO_DIGIT_AFTER}",
    f"{_NO_DIGIT_BEFORE}{_ZERO_DAY} {_ZERO_MONTH} {_YEAR}{_NO_DIGIT_AFTER}",
    f"(?:^|[^0-9.]){_ZERO_DAY}\\.{_ZERO_MONTH}\\.[0-9]{{2}}(?:\\Z|[^0-9.]|\\.(?:\\Z|[^0-9]))",
    f"^{_ZERO_DAY}[{_HYPHEN}]{_ZERO_MONTH}[{_HYPHEN}][0-9]{{2}}\\Z",
    f"{_NO_DIGIT_BEFORE}{_YEAR}[{_HYPHEN}/ .]{MONTH_NAME}[{_HYPHEN}/ .]{_DAY}{_NO_DIGIT_AFTER}",
    "(?:^|[^0-9/])" + _any(f"{_MONTH}/{_DAY}", f"{_DAY}/{_MONTH}") + "/[0-9]{2}(?:\\Z|[^0-9/])",
    f"{_NO_DIGIT_BEFORE}{_DAY}{_ORDINAL}[ ,.{_HYPHEN}/]{{0,3}}(?:of |de )?{MONTH_NAME}[ ,.'{_HYPHEN}/]{{0,3}}"
    f"(?:del? )?{_YEAR}{_NO_DIGIT_AFTER}",
    f"{_NO_DIGIT_BEFORE}{_DAY}[.{_HYPHEN}/]?{MONTH_NAME}[.'{_HYPHEN}/]?[0-9]{{2}}{_NO_DIGIT_AFTER}",
    f"(?:^|[^A-Za-z]){MONTH_NAME}[ .{_HYPHEN}/]{{0,3}}{_DAY}{_ORDINAL}[ ,.{_HYPHEN}/]{{1,3}}{_YEAR}{_NO_DIGIT_AFTER}",
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_DATE}{_CLOCK}{_NOT_IN_NUMBER_AFTER}",
    "(?:^|[^A-Za-z])(?:1st|2nd|3rd|[45]th|first|second|third|fourth|fifth|last) "
    f"(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:of|in) {MONTH_NAME}(?:\\Z|[^A-Za-z])",
)

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĘĚĞİŁŃŇŐŘŚŞŠŢŤŮŰŹŻŽ"
_LETTER = f"{_UPPER}a-zß-öø-ÿāăąćčďđęěğıłńňőřśşšţťůűźżž"
_PROPER = f"[{_UPPER}][{_LETTER}'’-]*[{_LETTER}]"
_NO_LETTER_BEFORE = f"(?:^|[^0-9{_LETTER}])"
_NO_LETTER_AFTER = f"(?:\\Z|[^0-9{_LETTER}])"
_NAME = _any(
    f"{_NO_LETTER_BEFORE}(?:Mr|Mrs|Ms|Dr|DR\\.|Dra|Prof|Sr|Sra|Srta|Mme|Mlle)\\.? ?{_PROPER}{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}(?:Miss|Herrn?|Frau|Fräulein|Monsieur|Madame|Mademoiselle|Señora?|Señorita|Doña|Professor) "
    f"{_PROPER}"
    f"{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}(?:née?|geb\\.|geborene[rn]?|alias|aka|genannt|named|called|namens|nommée?|llamad[oa]) "
    f"[{_UPPER}][a-zß-öø-ÿ]+{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}(?i:(?:first|last|full|family|given|maiden|patient|middle|sur|fore|vor|nach|familien|"
    f")[ _-]?name|"
    f"(?:pr[ée])?nom|nombre|apellidos?)(?: is | ist | ?: ?| ?= ?)[\"'“]?{_PROPER}{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}(?i:patient|patientin|paciente|contact)[:=] ?{_PROPER},? {_PROPER}{_NO_LETTER_AFTER}",
)

_STREET_WORDS = f"(?:[{_UPPER}][{_LETTER}'’.-]* ){{1,4}}"
_MORE_WORDS = f"(?:[{_UPPER}][{_LETTER}'’.-]* ){{0,3}}"
_ADDRESS = _any(
    f"{_NO_LETTER_BEFORE}[0-9]{{1,6}}[A-Za-z]?,? (?:[NSEW]{{1,2}}\\.? )?(?:[0-9]{{1,3}}(?:st|nd|rd|th) |"
    f"{_STREET_WORDS})"
    "(?i:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|place|pl|square|sq|terrace|ter|parkway|"
    f"pkwy|circle|cir|highway|hwy|close|crescent|gardens|grove|trail|trl|way){_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}(?i:p\\.? ?o\\.? ?box|post(?:al)? (?:office )?box|postfach|apartado(?: de correos)?|"
    "bo[iî]te postale|casilla) ?(?:n[°ºo]\\.? ?|# ?)?[0-9]",
    f"{_NO_LETTER_BEFORE}[{_UPPER}][{_LETTER}-]*(?:stra(?:ß|ss)e|str\\.|gasse|allee|damm|ufer|weg|platz|ring) "
    f"?[0-9]{{1,4}}"
    f"(?: ?[a-h])?{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}[{_UPPER}][{_LETTER}-]*[ -](?:Stra(?:ß|ss)e|Str\\.|Gasse|Allee|Damm|Ufer|Weg|Platz|Ring) "
    f"[0-9]{{1,4}}(?: ?[a-h])?{_NO_LETTER_AFTER}",
    f"{_NO_LETTER_BEFORE}[0-9]{{1,4}}(?: ?(?:bis|ter|quater))?,? (?i:rue|avenue|boulevard|bd|place|chemin|allée|"
    f"impasse|quai|"
    f"cours|route|square|passage) (?i:de |du |des |de la |de l['’]|d['’])?[{_UPPER}]",
    f"{_NO_LETTER_BEFORE}(?i:calle|c/|avenida|avda\\.?|av\\.|plaza|paseo|carrer|camino|ronda|via|viale|corso) "
    f"(?i:de |del |la |los |las |el ){{0,2}}{_MORE_WORDS}{_PROPER},? ?(?:n[.°ºo]{{0,2}} "
    f"?)?[0-9]{{1,4}}{_NO_DIGIT_AFTER}",
    f"{_NO_LETTER_BEFORE}{_PROPER},? (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|"
    f"O[HKR]|PA|"
    f"RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]),? [0-9]{{5}}(?:-[0-9]{{4}})?{_NO_DIGIT_AFTER}",
)

_LATITUDE = "(?:[0-8]?[0-9]|90)"
_LONGITUDE = "(?:1[0-7][0-9]|180|0?[0-9]?[0-9])"
_SIGN = f"[+{_HYPHEN}]"
_COORDINATES = _any(
    f"(?:^|[^0-9.]){_SIGN}?{_LATITUDE}\\.[0-9]{{4,15}} ?°?[NS]?[,;/ |]{{1,3}}{_SIGN}?{_LONGITUDE}\\.[0-9]{{4,15}}"
    "(?:\\Z|[^0-9.]|\\.(?:\\Z|[^0-9]))",
    f"(?:^|[^0-9.]){_LATITUDE}\\.[0-9]{{2,15}} ?°? ?[NS][,;/ |]{{1,3}}{_LONGITUDE}\\.[0-9]{{2,15}} ?°? ?[EWO]",
    "(?:^|[^0-9.])[0-9]{1,3} ?[°º] ?[0-9]{1,2}(?:\\.[0-9]+)? ?['′’](?: ?[0-9]{1,2}(?:\\.[0-9]+)? ?(?:[\"″”]|''|′′))? ?"
    "[NSEWO]",
    f"(?i:{_NO_LETTER_BEFORE}(?:lat(?:itude)?|lng|lon(?:g(?:itude)?)?|breite|breitengrad|länge|längengrad|latitud|"
    f"longitud)\\.?[ :=]{{1,3}}{_SIGN}?[0-9]{{1,3}}\\.[0-9]{{2}})",
    "(?i:geo:)" + f"{_SIGN}?[0-9]{{1,2}}\\.[0-9]",
)

_VERY_OLD = "(?:9[0-9]|1[0-2][0-9])"
_OLD_AGE = (
    "(?i:"
    + _any(
        f"(?:^|[^0-9.,/{_HYPHEN}]){_VERY_OLD}(?:\\.[0-9]+)?[ {_HYPHEN}]?(?:years?|yrs?)[ {_HYPHEN}](?:old|of age)",
        f"(?:^|[^0-9.,/]){_VERY_OLD}[ -]?(?:y/?o|yo[mf]|y\\.o\\.|(?:jahre )alt|jährige?[rnsm]?|jaehrige?[rnsm]?)"
        f"{_NO_LETTER_AFTER}",
        f"(?:âgée? de|edad de|de edad:?|im alter von|aged?:?|alter:?|edad:?|[âa]ge:?|age of|age is) "
        f"{_VERY_OLD}{_NO_DIGIT_AFTER}",
        f"(?:^|[^0-9.,/]){_VERY_OLD} (?:ans|años)(?: de edad)?{_NO_LETTER_AFTER}",
    )
    + ")"
)

TEXT_PATTERNS: dict[PatternName, str] = {
    PatternName.EMAIL: _EMAIL,
    PatternName.PHONE: _PHONE,
    PatternName.SSN: _SSN,
    PatternName.IP: _IP,
    PatternName.URL: _URL,
    PatternName.MEDICAL_RECORD_NUMBER: _MEDICAL_RECORD_NUMBER,
    PatternName.FULL_DATE: _FULL_DATE,
    PatternName.NAME: _NAME,
    PatternName.POSTAL_ADDRESS: _ADDRESS,
    PatternName.COORDINATES: _COORDINATES,
    PatternName.AGE_OVER_89: _OLD_AGE,
}
"""Patterns that a cell of a text column must not contain."""

NUMBER_PATTERNS: dict[PatternName, str] = {
    PatternName.PHONE: rf"^\+?{_BARE_PHONE}(?:\.0*)?\Z",
    PatternName.SSN: rf"^\+?{_BARE_SSN}(?:\.0*)?\Z",
    PatternName.FULL_DATE: rf"^\+?{_BARE_DATE}(?:\.0*)?\Z",
}
"""Patterns that a whole cell of an integer or number column must not match.

Only the whole cell counts and only 8, 9, 10 or 11 digits in a valid arrangement, so that weights, incomes and codes of
up to seven digits never match. ``.0`` is what a spreadsheet adds to a number.
"""

PATTERN_TITLES: dict[PatternName, str] = {
    PatternName.EMAIL: "no e-mail address",
    PatternName.PHONE: "no phone number",
    PatternName.SSN: "no social security number",
    PatternName.IP: "no IP address",
    PatternName.URL: "no web address",
    PatternName.MEDICAL_RECORD_NUMBER: "no medical record number",
    PatternName.FULL_DATE: "no full date",
    PatternName.NAME: "no name of a person",
    PatternName.POSTAL_ADDRESS: "no postal address",
    PatternName.COORDINATES: "no coordinates",
    PatternName.ACCOUNT_NUMBER: "no account or card number",
    PatternName.NATIONAL_ID: "no national identification number",
    PatternName.AGE_OVER_89: "no age over 89 in the text",
}
"""The check in plain words."""

WHOLE_NUMBER = r"^[+-]?[0-9]{1,18}\Z"
"""Cell of an integer column: fits 64 bits."""

NUMBER = r"^[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?\Z"
"""Cell of a number column: a finite decimal number; no thousands separator, no NaN or infinity."""

DATE_AND_TIME = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-2][0-9]:?[0-5][0-9])?)?\Z"
)
"""Cell of a date column: ISO 8601, with or without a time of day; that the day exists is checked apart."""
