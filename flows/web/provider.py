"""People whom an identity provider signs in: OpenID Connect with authorization code, PKCE, nonce and state.

The provider's answer comes from another site, so that the cookie which binds it to the browser is sent across sites
(SameSite=Lax); it is encrypted, lasts ten minutes, and signs nobody in by itself. The provider says who somebody is, an
enrolment who that is here, once: issuer and subject stay bound to the person of their first sign-in. A login without
an enrolled person, or groups without a role that the person is enrolled in, get no account, and the one that they had
loses its roles, with every session.
"""

import hmac
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet, InvalidToken

from flows.people.account import Account, Duty, ProviderIdentity
from flows.people.accounts import Accounts
from flows.workspace.actor import Clock
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.secret_variables import secret
from tasks.ledger.enrolment import Directory
from tasks.service.settings import ProviderSettings

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

SECRET = "RELEASEGATE_OIDC_SECRET"  # noqa: S105 - the name of a variable
LASTS = 600
"""Seconds that a sign-in at the provider may take."""
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Of signatures of ID tokens: all with public keys, none with a shared secret."""
_LEEWAY = 60
_KEPT = timedelta(hours=1)
_TIMEOUT = 10.0


@dataclass
class Provider:
    """The identity provider of a workspace's page."""

    settings: ProviderSettings
    clock: Clock
    _cipher: Fernet = field(default_factory=lambda: Fernet(Fernet.generate_key()), repr=False)
    _metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _keys: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _read: datetime | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, redirect: str, place: str) -> tuple[str, str]:
        """Begin a sign-in that leads to the page `place`; WorkspaceError if the provider cannot be reached.

        Returns the provider's address, to which the browser is sent, and a cookie that binds the answer to the browser.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        with _provider_errors(), self._session(redirect) as session:
            endpoint = self._metadata_of(session)["authorization_endpoint"]
            address, _ = session.create_authorization_url(endpoint, state=state, nonce=nonce, code_verifier=verifier)
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "place": place, "redirect": redirect}
        sealed = self._cipher.encrypt_at_time(json.dumps(kept).encode(), int(self.clock().timestamp()))
        return address, sealed.decode()

    def end(self, cookie: str, answer: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
        """Claims of the person whom the provider has signed in, and the page that they are led to.

        Raises BadInput if the answer is not that of a sign-in which this browser has begun, or the provider refuses;
        WorkspaceError if it cannot be reached, or its ID token is not valid.
        """
        try:
            moment = int(self.clock().timestamp())
            kept = json.loads(self._cipher.decrypt_at_time(cookie.encode(), LASTS, moment))
        except (InvalidToken, ValueError):
            raise _not_begun("none, or one that took too long") from None
        if not hmac.compare_digest(kept["state"].encode(), answer.get("state", "").encode()):
            raise _not_begun("another one's answer")
        if answer.get("iss", self.settings.issuer) != self.settings.issuer or not answer.get("code"):
            raise BadInput(
                "the identity provider has not signed you in",
                expected="its confirmation",
                got="a refusal" if answer.get("error") else "another answer",
                fix="sign in again, or ask the provider's operator",
            )
        with _provider_errors(), self._session(kept["redirect"]) as session:
            token = session.fetch_token(
                self._metadata_of(session)["token_endpoint"],
                grant_type="authorization_code",
                code=answer["code"],
                code_verifier=kept["verifier"],
                redirect_uri=kept["redirect"],
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
            return self._claims(session, token, kept["nonce"]), str(kept["place"])

    def _claims(self, session: "OAuth2Session", token: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """Claims of an ID token that is the provider's, for this service, in time, and of this sign-in."""
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415  of the extra oidc
        from joserfc import jwt  # noqa: PLC0415  of the extra oidc
        from joserfc.errors import InvalidKeyIdError  # noqa: PLC0415  of the extra oidc
        from joserfc.jwk import KeySet  # noqa: PLC0415  of the extra oidc
        from joserfc.jws import JWSRegistry  # noqa: PLC0415  of the extra oidc

        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        try:
            decoded = jwt.decode(token["id_token"], KeySet.import_key_set(self._keys_of(session)), registry=registry)
        except InvalidKeyIdError:  # the provider has changed its keys
            fresh = KeySet.import_key_set(self._keys_of(session, anew=True))
            decoded = jwt.decode(token["id_token"], fresh, registry=registry)
        client = self.settings.client_id
        options: dict[str, Any] = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": client},
            "sub": {"essential": True},
            "nonce": {"essential": True, "value": nonce},
        }
        about = {"nonce": nonce, "client_id": client, "access_token": token.get("access_token")}
        claims = CodeIDToken(decoded.claims, decoded.header, options, about)
        claims.validate(now=int(self.clock().timestamp()), leeway=_LEEWAY)
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise ValueError
        return dict(claims)

    @contextmanager
    def _session(self, redirect: str) -> Iterator["OAuth2Session"]:
        from authlib.integrations.requests_client import OAuth2Session  # noqa: PLC0415  of the extra oidc

        own = secret(SECRET) or None
        with OAuth2Session(
            self.settings.client_id,
            own,
            scope=" ".join(self.settings.scopes),
            redirect_uri=redirect,
            code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_basic" if own else "none",
        ) as session:
            yield session

    def _metadata_of(self, session: "OAuth2Session") -> Mapping[str, Any]:
        """The provider's own description, read once an hour; a ValueError if it is another's."""
        with self._lock:
            now = self.clock()
            if self._read is None or not self._read <= now < self._read + _KEPT:
                place = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                found = _json(session, place)
                endpoints = [found[name] for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
                secure = self.settings.issuer.startswith("https://")
                if found["issuer"] != self.settings.issuer or (
                    secure and any(urlsplit(one).scheme != "https" for one in endpoints)
                ):
                    raise ValueError
                self._metadata, self._keys, self._read = found, {}, now
            return self._metadata

    def _keys_of(self, session: "OAuth2Session", *, anew: bool = False) -> Any:
        place = self._metadata_of(session)["jwks_uri"]
        with self._lock:
            if anew or not self._keys:
                self._keys = _json(session, place)
            return self._keys


def check_installed() -> None:
    """Refuse (WorkspaceError) an identity provider where the extra is not installed."""
    try:
        import authlib.integrations.requests_client  # noqa: F401, PLC0415  of the extra oidc
    except ImportError:
        raise WorkspaceError(
            "people cannot sign in at an identity provider",
            where="page.provider",
            expected="the package authlib",
            got="an installation without it",
            fix="install releasegate with the extra oidc",
        ) from None


def account_of(
    workspace: Workspace, accounts: Accounts, settings: ProviderSettings, claims: Mapping[str, Any], clock: Clock
) -> Account:
    """The account of somebody whom the provider has signed in, made the first time.

    Raises BadInput if no enrolled person has the login, no group gives them a role that they are enrolled in, the
    identity is bound to another person, or login or person has another account.
    """
    identity = ProviderIdentity(issuer=settings.issuer, subject=claims["sub"])
    login = claims.get(settings.login_claim)
    confirmed = settings.login_claim != "email" or claims.get("email_verified") is True
    person = None
    if isinstance(login, str) and login and confirmed and has_ledger(workspace):
        with open_ledger(workspace) as ledger:
            person = Directory.of(ledger).person_of_login(login)
    given = claims.get(settings.groups_claim)
    groups = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    roles = {role for group in groups if isinstance(group, str) for role in settings.roles.get(group, ())}
    own = () if person is None else (*(role.value for role in person.roles), Duty.REGULATOR.value)
    duties = {Duty(role) for role in roles if role in own}
    if not isinstance(login, str) or person is None or not duties:
        accounts.suspend(identity)
        raise BadInput(
            "you have no account here" if person is None else "your groups give you no role here",
            expected="a login of an enrolled person"
            if person is None
            else "a group with a role that you are enrolled in",
            got="a login that is nobody's" if person is None else "no such group",
            fix="ask an officer of the gate",
        )
    return accounts.provided(identity, login, person, duties, clock=clock)


@contextmanager
def _provider_errors() -> Iterator[None]:
    """Turn every failure of provider or library into one error that quotes nothing: answers may hold secrets."""
    try:
        yield
    except WorkspaceError:
        raise
    except Exception as error:
        raise WorkspaceError(
            "the identity provider cannot be used now",
            where="page.provider",
            expected="its answers as OpenID Connect has them, and a valid ID token",
            got=type(error).__name__,
            fix="try again; if it remains so, compare page.provider with the provider's own settings",
        ) from None


def _json(session: "OAuth2Session", place: str) -> Mapping[str, Any]:
    answer = session.get(place, withhold_token=True, timeout=_TIMEOUT, allow_redirects=False)
    answer.raise_for_status()
    found = answer.json()
    if answer.status_code != 200 or not isinstance(found, dict):
        raise ValueError
    return found


def _not_begun(got: str) -> BadInput:
    return BadInput(
        "this sign-in was not begun here",
        expected="the answer of a sign-in that this browser began in the last ten minutes",
        got=got,
        fix="sign in again",
    )
