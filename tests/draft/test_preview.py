"""Group sizes of drafted hierarchies, counted by hand: of the population where it counts people, else of the file."""

from tasks.microdata.level_sizes import LevelSize
from tests.draft.test_draft import frame
from tests.support.drafted import draft_request

NUMBERS = [str(number) for number in range(30)]
AGES = ["20", "21", "22", "26", "31"] * 6
CODES = ["1010", "1011", "2010"] * 10


def test_without_a_population_records_are_counted_and_those_without_a_value_are_a_group() -> None:
    """Six records of each age; 20 to 24 are three of them. Codes that begin alike: 10 and 20; one record has none."""
    data = frame({"id": NUMBERS, "age": AGES, "postcode": [None, *CODES[1:]]})
    levels = draft_request(data, "data.csv").levels
    assert levels["age"] == (
        LevelSize("values", 5, 6),
        LevelSize("by 2", 4, 6),
        LevelSize("by 4", 3, 6),
        LevelSize("all", 1, 30),
    )
    assert levels["postcode"] == (
        LevelSize("values", 4, 1),
        LevelSize("first 1", 3, 1),
        LevelSize("all", 1, 30),
    )


def test_with_a_population_its_people_are_counted_in_groups_that_have_records() -> None:
    data = frame({"id": NUMBERS, "postcode": CODES})
    people = frame({"postcode": ["1010", "1011", "1099", "2010", "3010"], "count": ["5", "7", "100", "40", "1"]})
    levels = draft_request(data, "data.csv", population=people, population_path="people.csv").levels
    assert levels["postcode"] == (
        LevelSize("values", 3, 5),
        LevelSize("first 3", 2, 12),
        LevelSize("first 1", 2, 40),
        LevelSize("all", 1, 153),
    )
