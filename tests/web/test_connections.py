"""Requests that are sent slowly, or never to their end, keep nobody else from being answered."""

import http.client
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.world import ROOT

FILES = 256
"""Files that the server may open; a service may usually open 1,024."""
HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
SERVER = f"""
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
from fastapi import FastAPI, Request
from flows.web import connections

connections.LONGEST_REQUEST = 2.0
app = FastAPI()

@app.get("/health")
def health():
    return "healthy"

@app.get("/slow")
def slow():
    time.sleep(3)
    return "slow"

@app.post("/length")
async def length(request: Request):
    return len(await request.body())

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
connections.http_server(app).run(sockets=[listening])
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server in a process of its own."""
    line = [sys.executable, "-c", SERVER]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


def ask(port: int, path: str = "/health") -> tuple[str, float]:
    """An answer, and the seconds until it came."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode(), time.monotonic() - started
    finally:
        connection.close()


def begun(port: int, stack: ExitStack, content: bytes = HALF) -> socket.socket:
    """A connection that has sent something."""
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
    connection.sendall(content)
    return connection


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_hundreds_of_requests_that_are_never_finished_stop_nobody(port: int, stack: ExitStack) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 700
    for content in (HALF, b"", b"POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345"):
        for _ in range(FILES):
            begun(port, stack, content)
        answer, seconds = ask(port)
        assert (answer, seconds < 5) == ('"healthy"', True)


def test_a_request_has_a_time_to_be_complete(port: int, stack: ExitStack) -> None:
    drop = begun(port, stack)
    kept = begun(port, stack, HALF + b"\r\n")
    answer = b""
    while b"healthy" not in answer:  # head and body may come one after the other
        more = kept.recv(4096)
        assert more, "the connection was closed before it was answered"
        answer += more
    assert answer.startswith(b"HTTP/1.1 200")
    kept.sendall(HALF)  # the second request of a connection
    started = time.monotonic()
    for number in range(12):
        time.sleep(0.25)
        try:
            drop.sendall(b"X-Drop-%d: 1\r\n" % number)
        except ConnectionError:
            break
    assert is_closed(drop)
    assert is_closed(kept)
    assert 1.5 < time.monotonic() - started < 6


def test_a_complete_request_is_answered_however_long_that_takes(port: int, stack: ExitStack) -> None:
    waiting = begun(port, stack, b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for _ in range(FILES):
        begun(port, stack)
    answer = waiting.recv(4096)
    assert answer.startswith(b"HTTP/1.1 200")
