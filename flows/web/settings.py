"""What whoever runs the page may set."""

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property

from tasks.errors import ParameterError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HEADER = re.compile(r"[A-Za-z0-9-]+")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Settings:
    """Settings of the page.

    Raises
    ------
    ParameterError
        If a host beyond this machine would be served without TLS, a proxy's header is trusted from nowhere or from
        everywhere, or a number is out of range.
    """

    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Names that the page is asked for by, without ports; any other Host header is refused."""
    https: bool = False
    """Whether readers reach the page by TLS, its own or a proxy's; cookies then go by TLS only."""
    proxy_header: str | None = None
    """Header by which a proxy names whom it has signed in; None for none, which is the default."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies; headers of forwarding from elsewhere are not looked at."""
    signed_only: bool = False
    """Whether votes and revocations of people without a registered key are refused."""
    idle_minutes: int = 15
    """After which a session ends that is not used."""
    longest_hours: int = 8
    """After which it ends in any case."""

    def __post_init__(self) -> None:
        if not self.hosts:
            raise _unfit("hosts", "at least one name", "none")
        if not self.https and not set(self.hosts) <= _LOOPBACK:
            raise _unfit("https", "true wherever the page is served beyond this machine", "false")
        if self.proxy_header is not None and not (_HEADER.fullmatch(self.proxy_header) and self.proxies):
            raise _unfit("proxy_header", "the name of a header, and the addresses of the proxies", "not both")
        for name, number, most in (("idle_minutes", self.idle_minutes, 240), ("longest_hours", self.longest_hours, 24)):
            if not 1 <= number <= most:
                raise _unfit(name, f"1 to {most}", str(number))
        if any(network.prefixlen == 0 for network in self.networks):
            raise _unfit("proxies", "the addresses of the proxies", "every address there is")

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """The proxies."""
        try:
            return tuple(ipaddress.ip_network(one) for one in self.proxies)
        except ValueError:
            raise _unfit("proxies", "addresses or networks, as 10.0.0.5 or 10.0.0.0/24", "something else") from None

    def is_proxy(self, address: str) -> bool:
        """Whether an address is one of the proxies'."""
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
        return any((mapped or peer) in network for network in self.networks)


def _unfit(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "a setting of the reviewer's page cannot be used", where=where, expected=expected, got=got, fix="correct it"
    )
