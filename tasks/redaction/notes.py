"""Labelled clinical notes in English, on which the scanner is measured: short sentences with identifiers in them.

Sentences and names are this module's own; the expressions and lists of the scanner were written without them, and they
are not to be changed for its sake. All is drawn by a seeded generator: the same notes each time. Names are drawn evenly
from some hundreds: a family name is in about 0.3 % of the notes, a given name in 0.8 %.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from tasks.redaction.entities import Entity

SEED = 20_261_126
NOTES = 2_000
"""Notes that the scanner is measured on."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN = _words(
    "Aaron Abigail Adriana Agnes Ahmed Alan Alejandra Alice Alma Alvin Amir Ana Andre Angela Anita Anjali Arthur "
    "Asha Audrey Austin Beatrice Ben Bernard Beth Blake Bonnie Brandon Brenda Bruce Caleb Calvin Camila Carlos "
    "Cecilia Chad Chen Chloe Chris Claire Clarence Claudia Connie Cora Curtis Cynthia Darnell Darius Deepa Denise "
    "Derek Diego Dolores Doris Earl Ebony Edith Eduardo Elena Eli Ella Emeka Erin Esther Eva Felix Fiona Floyd "
    "Frances Francisco Gail Gary Georgia Gerald Gina Gloria Gordon Greg Hannah Harold Hassan Hector Helen Henry "
    "Hiro Hugo Ibrahim Ian Imani Irene Isaac Ivy Jada Jamal Janet Javier Jay Jeremy Jerome Jill Joan Joy Juan "
    "Juanita Julia Karim Kayla Keisha Kyle Lamar Laura Leah Leon Leroy Lily Lloyd Lois Lorenzo Louise Lucas Lupe "
    "Luz Malik Marcus Maria Marisol Marvin Maxine Mei Melissa Miguel Mildred Nadia Naomi Natasha Neil Noah Nora "
    "Norma Octavio Olga Olive Omar Oscar Otis Pablo Pearl Pedro Peggy Peter Phyllis Pierre Rachel Rafael Raj "
    "Ralph Ramona Raul Ray Renee Rhonda Rita Roberto Rosa Roy Ruth Samir Samuel Sean Shanice Sheila Shirley "
    "Simone Sofia Stella Tamika Tara Teresa Theo Tiffany Todd Trevor Vera Vernon Victor Violet Wanda Wayne "
    "Yolanda Yusuf Zachary Zoe"
)
_FAMILY = _words(
    "Abbott Abdi Acosta Aguilar Ahmed Alvarez Arnold Avila Bailey Banks Barnes Barrett Becker Bell Bennett Berg "
    "Black Blanchard Bowman Boyd Bradley Brennan Brooks Bryant Burgess Burke Burns Bush Butler Byrd Caldwell "
    "Cardenas Carlson Carpenter Castillo Castro Chan Chandler Chang Chavez Chen Cho Choi Christensen Cole Coleman "
    "Collins Contreras Cook Cooper Cortez Cox Crawford Cruz Cunningham Dalton Das Dawson Delgado Desai Diaz Dixon "
    "Dominguez Donovan Doyle Dunn Eaton Edwards Ellis Escobar Espinoza Estrada Evans Farrell Fernandez Fields "
    "Figueroa Fisher Fleming Fletcher Ford Foster Fox Franklin Freeman Fuentes Gallagher Gardner Gibbs Gibson "
    "Gill Goodman Gordon Graham Grant Gray Griffin Gupta Guzman Hale Hamilton Hansen Harper Hart Hawkins Hayes "
    "Henderson Henry Hicks Hoffman Holmes Horton Howard Huang Hughes Hunt Hussein Hwang Ingram Iyer Jain Jenkins "
    "Jensen Jimenez Jordan Joseph Joshi Kelley Kennedy Khan Klein Knight Kozlowski Kumar Lam Lambert Lane Larson "
    "Lawson Le Leblanc Leon Levine Li Lin Little Liu Love Lowe Lucas Luna Lynch Mack Maldonado Marsh Mason Mbeki "
    "McBride McCormick McCoy McDonald McGuire McKenzie Medina Mehta Mendez Mendoza Mensah Meyer Mills Molina "
    "Montgomery Morales Moreno Morgan Morris Moss Munoz Murphy Murray Myers Naidu Nash Navarro Newman Nichols "
    "Nielsen Novak Nunez Nwosu Obi Ochoa O'Donnell Oliver Olson Orozco Ortega Ortiz Osborne Owens Pace Pacheco "
    "Palmer Parker Parsons Patel Patterson Payne Pearson Pena Perkins Perry Peters Petersen Phillips Pierce "
    "Porter Powell Quinn Ramos Reed Reese Reyes Reynolds Richards Rios Rivas Robbins Rojas Romero Rosales Rose "
    "Ross Rowe Ruiz Russell Ryan Salazar Salinas Sandoval Santiago Santos Saunders Schneider Schultz Sesay Shah "
    "Sharma Shaw Shelton Sherman Silva Simmons Simon Simpson Singh Snyder Solis Soto Spencer Steele Stein Stevens "
    "Stewart Stokes Strickland Sullivan Sutton Swanson Tanaka Terry Tucker Turner Underwood Valdez Valencia "
    "Vargas Vasquez Vaughn Vega Velasquez Villarreal Vo Wade Wagner Wallace Walsh Walters Wang Ward Warner "
    "Watkins Watson Weaver Webb Weber Weiss Wheeler Wilkins Willis Wolf Wong Woods Wu Xu Yang Yates Yoder Yoon "
    "Zamora Zhang Ziegler Zimmerman"
)
_STREETS = _words(
    "Main Second Lincoln Lake Pine Sunset Ridge Madison Chestnut Spring Franklin Poplar Dickerson Meadow River "
    "Hickory Broadway Charlotte Nolensville Walnut Lakeshore Martin-Luther-King"
)
_KINDS_OF_STREETS = _words(
    "St Street Ave Road Rd Dr Drive Ln Lane Blvd Boulevard Ct Circle Place Terrace Way Hwy Trail"
)

_WITH_IDENTIFIERS = (
    "History obtained from {name} and the patient.",
    "Thank you for referring {name} to our practice.",
    "{name} presents today complaining of knee pain.",
    "I had the pleasure of seeing {name} on {date}.",
    "The patient, {name}, underwent an uneventful procedure.",
    "Consult requested by Dr. {name} for chest pain.",
    "Dr {family} aware and orders received.",
    "Report called to {given} at {phone}.",
    "RN {name} at bedside, vitals stable.",
    "Grandmother {given} has legal custody; reach her at {phone}.",
    "Nurse practitioner {name} will follow.",
    "Dictated by {name}, transcribed {date}.",
    "D: {date} T: {date} Job: {number}",
    "Date of birth {date}; Social Security {ssn}.",
    "Unit number {number}",
    "Medical record no. {number}; encounter {number}",
    "Specimen {number} collected {date} by {family}.",
    "Lives alone at {address}.",
    "Sent by courier to {address} on {date}.",
    "The ambulance picked her up at {address}.",
    "Turned {age} this spring and remains independent.",
    "A {age} gentleman with dementia.",
    "Sister is {age}, alive and well.",
    "Reach the family on {phone} or {phone}.",
    "Fax to {fax}, attention {given}.",
    "Pager {pager}.",
    "Portal message sent to {email} this morning.",
    "Questions may be directed to {email}.",
    "Images posted at {url} for review.",
    "Access from address {ip} was logged.",
    "Follow up {month} with {family}.",
    "First diagnosed in {month}, treated by {given} {family}, MD.",
    "{family} family meeting held {date}, {given} and {given} attended.",
    "Seen with interpreter {given}.",
    "PATIENT: {caps}",
    "Re: {name}, {date}",
    "He works with {given} at the plant and {given} drove him here.",
    "{given} was tearful during the visit.",
    "Advance directive names {name} as proxy.",
    "Implant lot {number}, serial no {number}.",
    "Medicare number {number} verified {date}.",
    "Her husband, {given}, died {date}.",
    "Son {given} {family} to pick up prescriptions.",
    "Per {family}, hold aspirin until {date}.",
)
_WITHOUT = (
    "Heart regular rate and rhythm without murmurs.",
    "T 98.4, BP 142/88, pulse 81, respirations 18.",
    "Start Amoxicillin 875 mg by mouth every 12 hours for 10 days.",
    "Hematocrit 38.1, sodium 139, potassium 4.2, creatinine 0.9.",
    "Patient will rest and mark each dose on the chart.",
    "Impression: Graves disease, controlled.",
    "Bell palsy on the right side, improving.",
    "Normal sinus rhythm, no ST changes.",
    "Not on anticoagulation.",
    "She may bathe in two days and should avoid heavy lifting.",
    "Given Zofran 4 mg IV with good effect.",
    "Apgar scores were 8 and 9.",
    "Abdomen soft, bowel sounds present, no guarding.",
    "Rates the pain 6/10 at worst, 2/10 at rest.",
    "Skin warm and dry without rash.",
    "CT of the head without contrast is negative.",
    "Lasix 40 mg daily, weight down 3 kg.",
    "Hepatitis B immune, tetanus booster up to date.",
    "Goal LDL under 100, currently 131.",
    "Physical therapy three times weekly for 6 weeks.",
)


class LabelledIdentifier(NamedTuple):
    """An identifier in a note."""

    entity: Entity
    tokens: tuple[int, ...]
    """Its tokens, by their place among those of all notes."""


@dataclass(frozen=True)
class LabelledNotes:
    """Notes, their tokens between white space, and the identifiers in them."""

    texts: tuple[str, ...]
    language: str
    tokens: int
    planted: tuple[LabelledIdentifier, ...]


def labelled_notes(count: int = NOTES, seed: int = SEED) -> LabelledNotes:
    """Draw some notes of three to six sentences, the same for the same seed."""
    chance = Random(seed)  # noqa: S311 - sentences, no secrets
    texts, planted, position = [], [], 0
    for _ in range(count):
        chosen = chance.sample(_WITH_IDENTIFIERS, chance.randint(1, 3)) + chance.sample(_WITHOUT, chance.randint(2, 3))
        chance.shuffle(chosen)
        parts: list[str] = []
        for sentence in chosen:
            for place, part in enumerate(sentence.replace("{", "\x00").replace("}", "\x00").split("\x00")):
                if place % 2 == 0:
                    parts.append(part)
                    continue
                entity, make = _FILLS[part]
                before = "".join(parts)
                first = position + len(before.split()) - (bool(before) and not before[-1].isspace())
                filled = make(chance)
                parts.append(filled)
                planted.append(LabelledIdentifier(entity, tuple(range(first, first + len(filled.split())))))
            parts.append(" ")
        text = "".join(parts).strip()
        texts.append(text)
        position += len(text.split())
    return LabelledNotes(tuple(texts), "en", position, tuple(planted))


def _digits(chance: Random, form: str) -> str:
    return "".join(chance.choice("0123456789") if one == "#" else one for one in form)


def _full_name(chance: Random) -> str:
    form = chance.choice(("{0} {1}", "{0} {1}", "{0} {1}", "{0} {2}. {1}", "{1}, {0}", "{2}. {1}"))
    return form.format(chance.choice(_GIVEN), chance.choice(_FAMILY), chance.choice("ABCDEFGHJKLMPRSTW"))


def _day(chance: Random) -> str:
    day = date(2015, 1, 1) + timedelta(chance.randrange(3650))
    form = chance.choice(
        ("%m/%d/%Y", "%m/%d/%y", "%Y-%m-%d", "%B %-d, %Y", "%b %-d %Y", "%-d %B %Y", "%m-%d-%Y", "%B %-d", "%d.%m.%Y")
    )
    plain = form.replace("%-d", str(day.day))
    return day.strftime(plain)


def _month(chance: Random) -> str:
    return (date(2015, 1, 1) + timedelta(chance.randrange(3650))).strftime(
        chance.choice(("%B %Y", "%b %Y", "%B of %Y"))
    )


def _phone(chance: Random) -> str:
    forms = ("###-###-####", "(###) ###-####", "###.###.####", "+1 ### ### ####", "###-####", "1-800-###-####")
    return _digits(chance, chance.choice(forms)).replace("(0", "(6").replace("(1", "(9")


def _mail(chance: Random) -> str:
    given, family = chance.choice(_GIVEN).lower(), chance.choice(_FAMILY).lower().replace("'", "")
    form = chance.choice(("{0}.{1}@example.com", "{0}{2}@mail.example.org", "{1}_{0}@health.example.net"))
    return form.format(given, family, chance.randrange(10, 99))


def _number(chance: Random) -> str:
    return _digits(chance, chance.choice(("#######", "########", "##-####-##", "A#######", "######-##", "#####")))


def _street(chance: Random) -> str:
    form = chance.choice(("{} {} {}", "{} {} {}", "{} {} {}, Apt 4", "{} North {} {}"))
    return form.format(chance.randrange(1, 9999), chance.choice(_STREETS), chance.choice(_KINDS_OF_STREETS))


def _old(chance: Random) -> str:
    form = chance.choice(("{}-year-old", "{} year old", "{} yo", "{} y/o", "{} years old"))
    return form.format(chance.randrange(90, 106))


_FILLS: Mapping[str, tuple[Entity, Callable[[Random], str]]] = {
    "name": (Entity.NAME, _full_name),
    "given": (Entity.NAME, lambda chance: chance.choice(_GIVEN)),
    "family": (Entity.NAME, lambda chance: chance.choice(_FAMILY)),
    "caps": (Entity.NAME, lambda chance: _full_name(chance).upper()),
    "date": (Entity.DATE, _day),
    "month": (Entity.DATE, _month),
    "phone": (Entity.PHONE, _phone),
    "email": (Entity.EMAIL, _mail),
    "url": (
        Entity.URL,
        lambda chance: chance.choice(("https://portal.example.com/p/", "www.example.org/r/")) + _digits(chance, "####"),
    ),
    "ip": (Entity.URL, lambda chance: ".".join(str(chance.randrange(1, 255)) for _ in range(4))),
    "number": (Entity.ID, _number),
    "fax": (Entity.PHONE, lambda chance: _digits(chance, "(6##) ###-####")),
    "pager": (Entity.PHONE, lambda chance: _digits(chance, "###-####")),
    "ssn": (Entity.ID, lambda chance: _digits(chance, chance.choice(("2##-4#-1###", "5## 3# 2###")))),
    "address": (Entity.ADDRESS, _street),
    "age": (Entity.AGE, _old),
}
