import pytest

from tests.support.worlds import PAIR_WORLD, World


@pytest.fixture
def pair_world() -> World:
    return PAIR_WORLD
