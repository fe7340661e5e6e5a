"""The rule for servers that receive memories: on this machine, unless the user allows others."""

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from slowcat_memory.errors import ConfigError, EndpointError, EndpointRefusedError

_PORTS = {"http": 80, "https": 443}


def check_loopback(url: str, allow_remote: bool = False) -> None:
    """Refuse a server that is not on this machine.

    Every address that its host name resolves to must be a loopback address. Cheap for
    "localhost" and for addresses, so that it can precede every request.

    Args:
        allow_remote: Allow any host; nothing is resolved then.

    Raises:
        ConfigError: It is not an http or https URL.
        EndpointRefusedError: Its host is not this machine; the message names the host.
        EndpointError: The host name does not resolve.
    """
    host = _parts(url).hostname or ""
    if allow_remote:
        return
    remote = [address for address in _addresses(host) if not _is_loopback(address)]
    if remote:
        raise EndpointRefusedError(
            f"the host {host!r} of the endpoint is not this machine ({remote[0]})",
            hint="Use 127.0.0.1, or set allow_remote = true if texts may leave this machine",
        )


def host_and_port(url: str) -> str:
    """Return a URL's host and port, for example "127.0.0.1:1234", without its secrets.

    Raises:
        ConfigError: It is not an http or https URL.
    """
    parts = _parts(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or _PORTS[parts.scheme]}"


def _parts(url: str) -> SplitResult:
    hint = "It looks like http://127.0.0.1:1234/v1"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises if it is not a number
    except ValueError as error:
        raise ConfigError("not a URL", hint=hint) from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ConfigError("not an http URL", hint=hint)
    return parts


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise EndpointError(f"the host {host!r} of the endpoint is unknown") from error
    return sorted({str(info[4][0]) for info in found})


def _is_loopback(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None)  # ::ffff:127.0.0.1
    return (mapped or ip).is_loopback
