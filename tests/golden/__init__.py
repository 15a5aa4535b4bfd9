"""Golden outputs: what small requests, which between them use every term, come to; frozen text, compared whole."""

import tests.support.arithmetic  # noqa: F401
