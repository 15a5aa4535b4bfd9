"""Sessions, limits and settings by themselves."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from flows.people.account import Account, Duty
from flows.web.rate_limits import Limiter, subscriber
from flows.web.sessions import Sessions
from tasks.service.settings import PageSettings

NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
ANA = Account(
    login="ana", person="ana.ruiz", name="Ana Ruiz", duties=frozenset({Duty.OFFICER}), password=None, since=NOON
)


def at(**span: float) -> datetime:
    return NOON + timedelta(**span)


def test_a_session_that_is_not_used_ends() -> None:
    sessions = Sessions(PageSettings(idle_minutes=15))
    token, session = sessions.begin(ANA, NOON)
    assert sessions.find(token, at(minutes=14)) is session
    assert sessions.find(token, at(minutes=28)) is session
    assert sessions.find(token, at(minutes=43)) is None
    assert sessions.find(token, at(minutes=29)) is None, "it has ended for good"


def test_a_page_that_asks_by_itself_keeps_no_session_alive() -> None:
    sessions = Sessions(PageSettings(idle_minutes=15))
    token, session = sessions.begin(ANA, NOON)
    for minute in range(15):
        assert sessions.find(token, at(minutes=minute), is_use=False) is session
    assert sessions.find(token, at(minutes=15), is_use=False) is None


def test_a_session_ends_in_any_case() -> None:
    sessions = Sessions(PageSettings(idle_minutes=15, longest_hours=1))
    token, _ = sessions.begin(ANA, NOON)
    for minutes in range(0, 60, 10):
        assert sessions.find(token, at(minutes=minutes)) is not None
    assert sessions.find(token, at(minutes=60)) is None


def test_a_clock_that_is_set_back_ends_sessions() -> None:
    sessions = Sessions(PageSettings())
    token, _ = sessions.begin(ANA, NOON)
    assert sessions.find(token, at(seconds=-1)) is None


def test_an_account_has_a_bounded_number_of_sessions() -> None:
    sessions = Sessions(PageSettings())
    tokens = [sessions.begin(ANA, NOON)[0] for _ in range(10)]
    assert [sessions.find(token, NOON) is None for token in tokens] == [True, True] + [False] * 8


def test_a_form_can_be_sent_once() -> None:
    _, session = Sessions(PageSettings()).begin(ANA, NOON)
    token = session.issue()
    assert [session.redeem(token), session.redeem(token), session.redeem("other")] == [True, False, False]
    many = [session.issue() for _ in range(65)]
    assert [session.redeem(many[0]), session.redeem(many[-1])] == [False, True]


def test_a_limit_holds_for_each_key_and_ends_with_its_window() -> None:
    limiter = Limiter(3, 60)
    assert [limiter.take("a", NOON) for _ in range(4)] == [0, 0, 0, 60]
    assert limiter.take("a", at(seconds=20)) == 40
    assert limiter.take("b", NOON) == 0
    assert limiter.take("a", at(seconds=60)) == 0


def test_what_was_right_is_given_back() -> None:
    limiter = Limiter(1, 60)
    assert limiter.take("a", NOON) == 0
    limiter.give_back("a")
    assert limiter.take("a", NOON) == 0
    limiter.give_back("never taken")


def test_many_other_keys_do_not_wear_a_limit_down_nor_take_more_room() -> None:
    limiter = Limiter(2, 60)
    for _ in range(2):
        limiter.take("target", NOON)
    for number in range(20_000):
        limiter.take(f"address {number}", NOON)
    assert limiter.take("target", NOON) > 0
    assert len(limiter._windows) <= 8192


def test_a_subscriber_with_many_addresses_is_one() -> None:
    assert subscriber("2001:db8:1:2:3:4:5:6") == subscriber("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert subscriber("::ffff:192.0.2.7") == "192.0.2.7"
    assert subscriber("192.0.2.7") != subscriber("192.0.2.8")
    assert subscriber("nonsense") == "unknown"


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"hosts": ()}, "hosts"),
        ({"hosts": ("gate.example.org",)}, "https"),
        ({"proxy_header": "Remote-User"}, "proxy_header"),
        ({"proxy_header": "Remote User", "proxies": ("10.0.0.1",)}, "proxy_header"),
        ({"proxies": ("somewhere",)}, "proxies"),
        ({"proxy_header": "Remote-User", "proxies": ("10.0.0.1", "0.0.0.0/0")}, "proxies"),
        ({"proxies": ("::/0",)}, "proxies"),
        ({"idle_minutes": 0}, "idle_minutes"),
        ({"longest_hours": 48}, "longest_hours"),
    ],
)
def test_settings_that_would_open_the_page_are_refused(settings: dict[str, object], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PageSettings(**settings)
    (error,) = caught.value.errors()
    assert where in str(error["loc"]) + error["msg"]
