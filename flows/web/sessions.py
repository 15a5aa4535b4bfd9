"""Sessions of signed-in people, in this process's memory, by the hash of a token that only the browser has.

A restart ends them all. So does any change of its account end a session: a new password, other roles, its removal.
"""

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flows.people.account import Account
from tasks.service.settings import PageSettings

_PER_ACCOUNT = 8
_FORMS = 64
_ENDED = 512


@dataclass
class Session:
    """One browser's session."""

    login: str
    stamp: str
    """Stamp of the account when the session began."""
    by_proxy: bool
    began: datetime
    seen: datetime
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    notice: str = ""
    """Shown once, on the next page."""
    offered: bytes = field(default=b"", repr=False)
    """Secret of a second factor that is being set up."""
    _forms: deque[str] = field(default_factory=lambda: deque(maxlen=_FORMS), repr=False)

    def issue(self) -> str:
        """A token for a form that may be sent once."""
        token = secrets.token_urlsafe(16)
        self._forms.append(token)
        return token

    def redeem(self, token: str) -> bool:
        """Use up a form's token; whether it was issued and not used before."""
        try:
            self._forms.remove(token)
        except ValueError:
            return False
        return True

    def is_own(self, csrf: str) -> bool:
        """Whether a form's anti-forgery token is this session's."""
        return hmac.compare_digest(csrf.encode(), self.csrf.encode())

    def take_notice(self) -> str:
        """The notice, which is then deleted."""
        notice, self.notice = self.notice, ""
        return notice


class Sessions:
    """All sessions."""

    def __init__(self, settings: PageSettings) -> None:
        self._idle = timedelta(minutes=settings.idle_minutes)
        self._longest = timedelta(hours=settings.longest_hours)
        self._sessions: dict[str, Session] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()
        """Logins of ended sessions, by the anti-forgery token of their forms."""
        self._lock = threading.Lock()

    def begin(self, account: Account, now: datetime, *, by_proxy: bool = False) -> tuple[str, Session]:
        """A new session and its token; an account's oldest session ends if it has too many."""
        token = secrets.token_urlsafe(32)
        session = Session(account.login, account.stamp, by_proxy, now, now)
        with self._lock:
            for key, one in list(self._sessions.items()):
                if not self._is_alive(one, now):
                    self._note_end(self._sessions.pop(key))
            own = [key for key, one in self._sessions.items() if one.login == account.login]
            for key in own[: max(0, len(own) - _PER_ACCOUNT + 1)]:
                del self._sessions[key]
            self._sessions[_key(token)] = session
        return token, session

    def find(self, token: str, now: datetime, *, is_use: bool = True) -> Session | None:
        """The session of a token, if it has not ended; this counts as use, unless a page asks by itself."""
        with self._lock:
            session = self._sessions.get(_key(token))
            if session is None or not self._is_alive(session, now):
                if self._sessions.pop(_key(token), None) is not None and session is not None:
                    self._note_end(session)
                return None
            if is_use:
                session.seen = now
            return session

    def end(self, token: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            session = self._sessions.pop(_key(token), None)
            if session is not None:
                self._note_end(session)

    def login_of_form(self, csrf: str) -> str | None:
        """Login of the ended session whose form has this anti-forgery token; None where none has."""
        with self._lock:
            return self._ended.get(csrf)

    def _note_end(self, session: Session) -> None:
        self._ended[session.csrf] = session.login
        while len(self._ended) > _ENDED:
            self._ended.popitem(last=False)

    def _is_alive(self, session: Session, now: datetime) -> bool:
        return session.began <= now < session.began + self._longest and now < session.seen + self._idle


def _key(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "backslashreplace")).hexdigest()
