"""Subjects of columns, as far as the words of their names show them."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum

_NUMBERED = re.compile(r"(.*?)[0-9]+(\D*)", re.DOTALL)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SPELT_OUT = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "ł": "l", "Ł": "L"})
"""Letters that are no letter with an accent."""


class Theme(StrEnum):
    """Subject of a column, as far as its name or values show it."""

    IDENTITY = "identity"
    AGE = "age"
    ZIP = "zip"
    PLACE = "place"
    DATE = "date"
    PERSON = "person"
    PRIVATE = "private"


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


POSTCODE_WORDS = word_set("zip zipcode zcta postcode postal postalcode plz postleitzahl postnummer postnr")
"""Words of a name that say that a column holds postcodes."""

NUMBER_WORDS = word_set("id ids identifier key code number no nr num nummer")
"""Words of a name that say that a column holds numbers or codes of people or things."""

PEOPLE_WORDS = word_set("person patient subject participant member client customer employee case pat subj")
"""Words of a name that say that a column is of people."""

HINTS: Mapping[Theme, frozenset[str]] = {
    Theme.IDENTITY: word_set(
        "surname forename firstname lastname fullname initials ssn sin nin nhs mrn email mail phone telephone "
        "tel mobile fax address addr street url website ip passport licence license plate vin account iban "
        "card beneficiary photo fingerprint username login uuid guid serial device latitude longitude lat lon "
        "geocode nachname vorname telefon adresse straße strasse anschrift prénom prenom nombre apellido "
        "apellidos teléfono "
        "telefono adresse dirección direccion achternaam voornaam adres telefoon cognome indirizzo sobrenome endereço "
        "telefone efternamn förnamn personnummer adress etternavn fornavn efternavn bsn nif"
    ),
    Theme.AGE: word_set("age ages alter lebensalter âge edad leeftijd età idade ålder alder"),
    Theme.ZIP: POSTCODE_WORDS,
    Theme.PLACE: word_set(
        "city town village county municipality district region place location residence fips tract canton "
        "kanton parish precinct borough lsoa msoa hospital "
        "clinic facility site ward provider residency resides urban rural metro metropolitan "
        "ort wohnort stadt gemeinde kreis landkreis bundesland krankenhaus klinik "
        "ville commune département departement région hôpital hopital ciudad municipio provincia "
        "woonplaats gemeente comune città regione município concelho kommun kommune län fylke"
    ),
    Theme.DATE: word_set(
        "birth birthday birthdate born dob yob yrbth yrdth date day month year time timestamp admission "
        "admitted discharge discharged visit death dod deceased days weeks months geburtsdatum geburtstag geburtsjahr "
        "datum jahr aufnahmedatum entlassungsdatum sterbedatum naissance année nacimiento fecha "
        "geboortedatum nascita nascimento födelsedatum födelseår fødselsdato fødselsår dato"
    ),
    Theme.PERSON: word_set(
        "sex gender race ethnicity ethnic nationality nation country continent state citizenship citizen native origin "
        "language birthplace black white hispanic male female tribe religion faith marital married spouse "
        "children kids relationship household family education educ schooling degree school occupation job profession "
        "employer employment work workclass industry veteran military height geschlecht nationalität "
        "staatsangehörigkeit familienstand konfession sprache schulabschluss bildung beruf kinder größe sexe "
        "nationalité profession langue civil origine ethnie personnes enfants emploi métier logement "
        "sexo nacionalidad profesión idioma origen "
        "geslacht nationaliteit opleiding beroep sesso nazionalità istruzione professione nacionalidade escolaridade "
        "profissão kön kjønn køn civilstånd sivilstand civilstand utbildning utdanning uddannelse yrke erhverv"
    ),
    Theme.PRIVATE: word_set(
        "diagnosis diagnoses diag dx icd disease condition disorder symptom symptoms drug drugs medication "
        "medicine treatment procedure therapy lab test result results hiv cancer gene genotype mutation "
        "mental psychiatric menopause menopausal menostat pregnancy pregnant disability outcome income salary wage "
        "wages pay earnings capital debt loan credit tax benefit vote party political union sexual "
        "orientation crime arrest conviction grade score followup survival cd4 cd8 hba1c glucose cholesterol "
        "creatinine hemoglobin haemoglobin amount cost costs charge charges price payment revenue "
        "diagnose erkrankung krankheit hauptdiagnose nebendiagnose kosten gewicht "
        "medikament behandlung einkommen gehalt kredit schulden diagnostic maladie traitement revenu salaire prêt "
        "crédit dette faillite bankruptcy diagnóstico enfermedad tratamiento ingresos "
        "ziekte inkomen salaris malattia reddito stipendio doença rendimento salário sjukdom sykdom sygdom inkomst "
        "inntekt indkomst lön lønn"
    ),
}
"""Words of a column's name or label that say what it is about."""

_OF_CARE = word_set("hospital clinic facility site ward provider krankenhaus klinik hôpital hopital")
"""Words of places where people were treated, which need not be known of them."""
_OF_PEOPLE = word_set(
    "surname forename firstname lastname fullname initials street addr address straße strasse anschrift adresse adres "
    "nachname vorname birth birthday birthdate born dob yob geburtsdatum geburtstag geburtsjahr naissance nacimiento "
    "geboortedatum nascita nascimento födelsedatum fødselsdato wedding partner kid kids team manager firm tongue club "
    "latitude longitude lat lon geocode geohash"
)
"""Further words of what is known of people: names, addresses, coordinates, births, families and work."""
_OF_OTHER_THINGS = word_set("birth family work job school language origin native children partner team")
"""Words that tell of a person unless another word follows that says of what: “family history”, “job score”."""
_OF_GROUPS = word_set(
    "group groups code class category type name status size number date day month year place country title of at in"
)
"""Words that may follow them all the same."""
_OF_NUMBERS = NUMBER_WORDS | word_set(
    "hh hhid household haushalt menage hogar famiglia hushall contract policy account sample"
)
_ALONE = word_set("white black state")
"""Words that tell of a person where they are the whole name: “white blood cells” do not."""
_BEGINNINGS = ("wohn", "beruf", "geburts", "kinder", "familien", "staatsang", "schulab", "ausbildung", "nationalit")
"""Beginnings of compounds that are known of people."""


_IN_NAMES = re.compile(
    r"\b(?:work ?(?:place|site)|boarding|alighting|(?:home|bus|tram|train|nearest) (?:stop|station)"
    "|gp (?:practice|surgery)|polling|(?:phone|telephone) prefix|area code|diall?ing|easting|northing"
    "|grid (?:e|n|x|y|km|cell|square|ref|reference)|^h cell|what words"
    "|(?:x|y|utm) coord(?:inate)?s?|coord(?:inate)?s? (?:x|y)|rechtswert|hochwert|ostwert|nordwert|quadkey|output area"
    "|neighbou?rhood|cost cent(?:re|er)|org(?:anisation)? unit"
    "|school attended|form tutor|(?:pay|salary) (?:grade|band)|hired?|graduation"
    "|wheelchair|twins?|(?:eye|hair) ?colou?r|shoe|handedness|(?:left|right) ?handed|^glasses$|wears? glasses"
    "|spectacles|haltestelle|arbeits(?:platz|ort)|hausarzt|wahllokal|(?:telefon)?vorwahl|rollstuhl|zwillinge?|augenfarbe|haarfarbe"
    "|schuhgrosse|handigkeit|brille|lunettes|jume(?:au|lle)|fauteuil roulant"
    "|(?:class ?teacher|teacher|tutor|case ?worker|interviewer|siblings?|klassenlehrer(?:in)?|geschwister|fratrie)"
    r"(?: (?:group|name|code|id|no|number|count))?$)(?: |$)"
)
"""Words of names that tell the same, alone or together, but may be of other things in a description."""


_ROWS = (
    "visit encounter stay icustay hadm hospitali[sz]ation admission discharge episode claim invoice prescription "
    "dispensing dispensation appointment consultation specimen transaction "
    r"\w*besuch \w*aufenthalt \w*rezept aufnahme entlassung verordnung rechnung "
    "sejour visite ordonnance facture prelevement echantillon visita ingreso receta muestra episodio factura"
).replace(" ", "|")
"""Visits, claims, samples and the like, of which a person can have several."""
_ROWS_BY_NAME = f"{_ROWS}|sample|test|order|event|trip|call|fall|falle|\\w*probe|alta"
"""The same with words that mean other things in a title, such as “test data”."""
_FORM = "(?:{})(?:s|es|n|en)?(?:id|no|nr|num|number|nummer|key|code)?"
"""A word as names have it: of several, or with the ending of a number."""


def name_words(column: str) -> tuple[str, ...]:
    """Words of a column's name, in small letters without accents.

    >>> name_words("Âge_atVisit2")
    ('age', 'at', 'visit')
    """
    apart = unicodedata.normalize("NFKD", column.translate(_SPELT_OUT))
    plain = "".join(one for one in apart if not unicodedata.combining(one))
    return tuple(word.lower() for word in _WORD.findall(plain))


def usually_known(column: str, description: str = "") -> str:
    """The first word of a column's name that tells a subject that neighbours, colleagues or registers know.

    These are ages, dates of birth, postcodes, addresses, places of residence or work and a person's circumstances and
    looks, such as sex, education or eye colour. Where no word of the name tells any subject, the first of the
    description that does counts. Empty where no word does.

    >>> usually_known("raceGroup"), usually_known("Wohngemeinde"), usually_known("job_score")
    ('race', 'wohngemeinde', '')
    >>> usually_known("q3", "Country of birth"), usually_known("q4", "Diagnosis by age"), usually_known("hiv", "By age")
    ('country', '', '')
    """
    words = name_words(column)
    for word, more in zip(words, (*words[1:], ""), strict=False):
        if _is_known(word) and (not more or word not in _OF_OTHER_THINGS or more in _OF_GROUPS) and word not in _ALONE:
            return word
    if len(words) == 1 and words[0] in _ALONE:
        return words[0]
    if found := _IN_NAMES.search(" ".join(words)):
        return found[0].strip()
    if any(word in _OF_A_SUBJECT for word in words):
        return ""
    told = next((word for word in name_words(description) if word in _OF_A_SUBJECT or _is_known(word)), "")
    return told if _is_known(told) else ""


def is_of_residence(word: str) -> bool:
    """Whether a word that ``usually_known`` found is of a place where people live.

    >>> is_of_residence("town"), is_of_residence("wohngemeinde"), is_of_residence("age")
    (True, True, False)
    """
    return word in _OF_RESIDENCE or word.startswith("wohn")


def names_numbers(column: str) -> bool:
    """Whether a column is named as numbers of people or things are, such as households.

    >>> names_numbers("household_id"), names_numbers("HH"), names_numbers("visits")
    (True, True, False)
    """
    return not _OF_NUMBERS.isdisjoint(name_words(column))


def event_word(column: str, *texts: str) -> str:
    """The first word that says that the rows which a column numbers are visits, claims, samples or the like.

    The column's name goes first. Unless it says that they are people, texts on it and on the file count as well. Empty
    where no word says so.

    >>> event_word("visit_id"), event_word("Fallnummer"), event_word("id", "Number", "Séjours 2024")
    ('visit', 'fallnummer', 'sejours')
    >>> event_word("patient_id", "Visits"), event_word("record_id", "Test data")
    ('', '')
    """
    words = name_words(column)
    found = _first(_ROWS_BY_NAME, words)
    if found or _first("|".join(PEOPLE_WORDS), words):
        return found
    return _first(_ROWS, (word for text in texts for word in name_words(text)))


def names_people(column: str) -> bool:
    """Whether a column is named as numbers of people are.

    >>> names_people("mrn"), names_people("patientid"), names_people("visit")
    (True, True, False)
    """
    return bool(_first("|".join(PEOPLE_WORDS | {"mrn", "ssn", "nhs"}), name_words(column)))


def _first(forms: str, words: Iterable[str]) -> str:
    """The first word in one of some forms, empty where there is none."""
    return next((word for word in words if re.fullmatch(_FORM.format(forms), word)), "")


def series_of(columns: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Columns whose names differ in a number alone, such as those of several diagnoses, in their order.

    >>> series_of(["dx1", "age", "dx2", "icd10_1", "icd9_1"])
    (('dx1', 'dx2'),)
    """
    found = dict[tuple[str, str], list[str]]()
    for column in columns:
        if numbered := _NUMBERED.fullmatch(column):
            found.setdefault((numbered[1], numbered[2]), []).append(column)
    return tuple(tuple(one) for one in found.values() if len(one) > 1)


def _is_known(word: str) -> bool:
    return word in _USUALLY_KNOWN or word.startswith(_BEGINNINGS)


def _plain(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for one in words for word in name_words(one))


_USUALLY_KNOWN = _plain(
    HINTS[Theme.AGE] | HINTS[Theme.ZIP] | HINTS[Theme.PLACE] | HINTS[Theme.PERSON] | _OF_PEOPLE
) - _plain(_OF_CARE)
_OF_A_SUBJECT = _plain(word for hints in HINTS.values() for word in hints)
_OF_RESIDENCE = _plain(HINTS[Theme.ZIP] | HINTS[Theme.PLACE]) - _plain(_OF_CARE)
