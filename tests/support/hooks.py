"""A webhook of the tests' own: notes what it is told, and refuses it where its path begins with ``/broken``."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Hook(http.server.BaseHTTPRequestHandler):
    """Takes JSON."""

    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(500 if self.path.startswith("/broken") else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening() -> Iterator[int]:
    """Its port, for as long as the block runs; nothing is noted at the beginning."""
    Hook.bodies.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
