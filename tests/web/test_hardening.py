"""What holds for every answer: headers, hosts, faults that tell nothing, vendored files, contrasts."""

import hashlib
import logging
import re
from pathlib import Path

import pytest
from fastapi import APIRouter

from flows.web.app import create_app
from flows.web.site import STATIC
from tasks.service.settings import PageSettings
from tests.support.pages import WAITING, Pages, Visitor

TEMPLATES = Path(__file__).parents[2] / "templates" / "web"
HTMX_SHA256 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""Of dist/htmx.min.js of htmx.org 2.0.11."""
PLACES = (
    "/",
    "/sign-in",
    "/releases",
    f"/releases/{WAITING}/university",
    f"/releases/{WAITING}/university/vote",
    f"/releases/{WAITING}/university/documents/report.pdf",
    "/ledger",
    "/audit",
    "/nothing",
)


def test_every_answer_has_the_headers(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    for place in PLACES:
        headers = visitor.get(place).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["img-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["form-action"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_a_figure_by_itself_can_do_nothing_but_be_seen(pages: Pages) -> None:
    headers = pages.visitor("okafor").get(f"/releases/{WAITING}/university/figures/risk.svg").headers
    policy = headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    assert headers["cache-control"] == "no-store"


def test_no_template_needs_what_the_policy_forbids() -> None:
    for path in TEMPLATES.glob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path.name
        assert "<style" not in text
        assert not re.search(r"\s(style|on[a-z]+)=", text), path.name
        assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", text), path.name
        assert "hx-on" not in text
        assert "|safe" not in text.replace(" ", "")
    assert not re.search(r"url\(|@import", (TEMPLATES / "style.css").read_text())


def test_every_form_that_changes_something_has_a_token() -> None:
    for path in TEMPLATES.glob("*.html"):
        for form in re.findall(r"<form.*?</form>", path.read_text(), re.DOTALL):
            if 'method="post"' in form:
                assert re.search(r'name="csrf"|once_fields\(csrf, once\)|sealed_fields\(csrf, once, found\)', form), (
                    path.name
                )
    macros = (TEMPLATES / "macros.html").read_text()
    assert '<input type="hidden" name="csrf" value="{{ csrf }}">' in macros[macros.index("macro once_fields") :]


def test_static_files_are_the_vendored_ones_and_no_others(pages: Pages) -> None:
    visitor = pages.visitor()
    for name, kind in STATIC.items():
        answer = visitor.get(f"/static/{name}")
        assert answer.content == (TEMPLATES / name).read_bytes()
        assert answer.headers["content-type"] == kind
        assert "immutable" in answer.headers["cache-control"]
    assert hashlib.sha256((TEMPLATES / "htmx.min.js").read_bytes()).hexdigest() == HTMX_SHA256
    assert "Zero-Clause BSD" in (TEMPLATES / "htmx-LICENSE.txt").read_text()
    assert 'version:"2.0.11"' in (TEMPLATES / "htmx.min.js").read_text()


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "localhost:x", "[::2]"])
def test_another_host_is_refused(pages: Pages, host: str) -> None:
    answer = pages.visitor().get("/sign-in", headers={"host": host})
    assert answer.status_code == 400
    assert host not in answer.text or not host
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", ["localhost", "localhost:8443", "LOCALHOST", "127.0.0.1:80", "[::1]:8000", "[::1]"])
def test_its_own_hosts_are_served(pages: Pages, host: str) -> None:
    assert pages.visitor().get("/sign-in", headers={"host": host}).status_code == 200


def test_two_hosts_are_none(pages: Pages) -> None:
    headers = [("host", "localhost"), ("host", "evil.example")]
    assert pages.visitor().client.get("/sign-in", headers=headers).status_code == 400


def extended(pages: Pages) -> Visitor:
    router = APIRouter()

    @router.get("/api/fault")
    def fault() -> None:
        raise ValueError("value 4711 of somebody")

    @router.get("/api/number/{number}")
    def number(number: int) -> dict[str, int]:
        return {"number": number}

    return Visitor(create_app(pages.workspace.root, clock=pages.time, settings=PageSettings(), routers=(router,)))


def test_a_fault_tells_its_kind_to_the_log_and_nothing_to_anybody(
    pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = extended(pages).get("/api/fault")
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    for text in (answer.text, caplog.text):
        assert "4711" not in text
    assert "ValueError in fault" in caplog.text
    assert not any(entry.exc_info for entry in caplog.records)


def test_further_routes_are_served_guarded_and_do_not_quote_what_they_refuse(pages: Pages) -> None:
    visitor = extended(pages)
    answer = visitor.get("/api/number/5")
    assert (answer.json(), answer.headers["x-frame-options"]) == ({"number": 5}, "DENY")
    refused = visitor.get("/api/number/canary")
    assert refused.json() == {"error": "the request cannot be used", "where": ["path.number"]}
    assert visitor.get("/api/nothing").json() == {"detail": "Not Found"}
    assert visitor.get("/api/number/5", headers={"host": "evil.example"}).status_code == 400


def test_nothing_describes_the_page_to_strangers(pages: Pages) -> None:
    visitor = pages.visitor()
    for place in ("/docs", "/redoc", "/openapi.json"):
        assert visitor.get(place).status_code == 404


def test_other_methods_are_refused(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    for method in ("PUT", "DELETE", "PATCH"):
        assert visitor.client.request(method, "/releases").status_code == 405


def test_no_log_tells_a_password_or_who_was_guessed_at(pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        visitor = pages.visitor()
        visitor.sign_in("secretlogin", "secretpassword " * 30)
        visitor.sign_in("okafor")
    assert "secret" not in caplog.text
    assert "signed in: okafor" in caplog.text


PAIRS = (
    ("ink", "page"), ("ink", "surface"), ("ink", "sunken"), ("muted", "page"), ("muted", "surface"),
    ("muted", "sunken"),
    ("link", "page"), ("link", "surface"), ("on-accent", "accent"), ("accent", "over-bed"), ("muted", "bar"),
    ("good", "good-bed"), ("open", "open-bed"), ("bad", "bad-bed"), ("over", "over-bed"), ("surface", "bad"),
    ("bad", "surface"), ("ink", "good-bed"), ("ink", "open-bed"), ("ink", "bad-bed"), ("ink", "over-bed"),
)  # fmt: skip
EDGES = (("edge", "surface"), ("focus", "page"), ("focus", "surface"))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_of_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def palettes() -> dict[str, dict[str, str]]:
    css = (TEMPLATES / "style.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    found = [dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part)) for part in (light, dark)]
    return {"light": found[0], "dark": found[0] | found[1]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_edges_have_contrast(scheme: str) -> None:
    colours = palettes()[scheme]
    weak = {pair for pair in PAIRS if contrast(*(colours[name] for name in pair)) < 4.5}
    weak |= {pair for pair in EDGES if contrast(*(colours[name] for name in pair)) < 3}
    assert weak == set()
