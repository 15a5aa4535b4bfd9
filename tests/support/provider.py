"""An identity provider for tests: authorization code with PKCE over HTTP, ID tokens signed with an elliptic curve key.

What it gets wrong can be set, a test at a time.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, CLIENT_SECRET = "gate", "a secret of the client at the provider"


@dataclass
class TestProvider:
    """The provider, whose only visitor has some claims."""

    __test__ = False

    claims: dict[str, Any]
    moment: int
    issuer: str = ""
    wrong: dict[str, Any] = field(default_factory=dict)
    """Claims of ID tokens that are not as they should be."""
    by: str = "own key"
    """What ID tokens are signed with."""
    named: str | None = None
    """Issuer in the description, where it is another."""
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._described),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    async def _described(self, _: Request) -> Response:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        described = {name: f"{self.issuer}/{place}" for name, place in places.items()}
        return JSONResponse(described | {"issuer": self.named or self.issuer})

    async def _keys(self, _: Request) -> Response:
        return JSONResponse(KeySet([self.key]).as_dict(private=False))

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        expected = {"client_id": CLIENT, "response_type": "code", "code_challenge_method": "S256"}
        if any(asked.get(name) != value for name, value in expected.items()) or "openid" not in asked["scope"].split():
            return Response("no", 400)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        answer = urlencode({"code": code, "state": asked["state"], "iss": self.issuer})
        return RedirectResponse(f"{asked['redirect_uri']}?{answer}", 303)

    async def _token(self, request: Request) -> Response:
        given = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self.codes.pop(given.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given.get("code_verifier", "").encode()).digest()).rstrip(
            b"="
        )
        for what, fits in (
            ("client", request.headers.get("authorization") == f"Basic {basic}"),
            ("code", asked is not None),
            ("verifier", asked is not None and asked["code_challenge"] == challenge.decode()),
            ("redirect", asked is not None and asked["redirect_uri"] == given.get("redirect_uri")),
        ):
            if not fits:
                self.refusals.append(what)
                return JSONResponse({"error": "invalid_grant", "error_description": "secretcanary"}, 400)
        assert asked is not None
        times = {"iat": self.moment, "exp": self.moment + 300}
        claims = {"iss": self.issuer, "aud": CLIENT, "nonce": asked["nonce"], **times, **self.claims, **self.wrong}
        signed = self._signed({name: value for name, value in claims.items() if value is not None})
        return JSONResponse({"access_token": "of-no-use", "token_type": "Bearer", "id_token": signed})

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.by == "nothing":
            return jwt.encode({"alg": "none"}, claims, OctKey.import_key(CLIENT_SECRET), algorithms=["none"])
        if self.by == "shared secret":
            return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET), algorithms=["HS256"])
        key = ECKey.generate_key("P-256", {"kid": "one"}) if self.by == "another key" else self.key
        return jwt.encode({"alg": "ES256", "kid": key.kid}, claims, key, algorithms=["ES256"])
