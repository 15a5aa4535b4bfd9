"""Health check of the image: exit code 0 if the service in this container is healthy.

``python -P deployments/healthy.py [ADDRESS]``; the address is http://127.0.0.1:8600/health where none is given. Nothing
is printed but the unhealthy parts, which the service names without values.
"""

import json
import sys
import urllib.error
import urllib.request

_ADDRESS = "http://127.0.0.1:8600/health"
_SECONDS = 8.0


def unwell(address: str) -> list[str]:
    """Unhealthy parts with their problems; empty if all is well."""
    if not address.startswith(("http://", "https://")):
        return ["the address begins with neither http:// nor https://"]
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 - checked above
            parts = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        try:
            parts = json.loads(error.read())
        except ValueError:
            return [f"answered with {error.code}"]
    except (OSError, ValueError):
        return ["does not answer"]
    if not isinstance(parts, dict) or parts.get("ok") is True:
        return [] if isinstance(parts, dict) else ["answered with something else"]
    return [f"{name}: {state}" for name, state in parts.items() if name != "ok" and state != "ok"] or ["not well"]


if __name__ == "__main__":
    wrong = unwell(sys.argv[1] if len(sys.argv) > 1 else _ADDRESS)
    if wrong:
        sys.exit("\n".join(wrong))
