"""The rule for servers that receive memories: on this machine, unless the user allows others.

And whose program is at the other end of a connection on this machine: Linux lists every TCP socket
with the user who made it. A program of another user, and one that cannot be found (in a container,
or gone), is nobody's.
"""

import ipaddress
import os
import socket
import sys
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from slowcat_memory.errors import ConfigError, EndpointError, EndpointRefusedError, SlowcatError

_PORTS = {"http": 80, "https": 443}
ESTABLISHED, LISTENING = "01", "0A"
TABLE, TABLE6 = Path("/proc/net/tcp"), Path("/proc/net/tcp6")
LOCAL, REMOTE, STATE, UID = 1, 2, 3, 7  # columns of the tables


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
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise EndpointError(f"the host {host!r} of the endpoint is unknown") from error
    return sorted({str(info[4][0]) for info in infos})


def _is_loopback(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None)  # ::ffff:127.0.0.1
    return (mapped or ip).is_loopback


def can_tell() -> bool:
    """Return whether this machine says whose a connection is."""
    return sys.platform == "linux" and os.access(TABLE, os.R_OK)


def is_own_user(peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Return whether a connection was made by a program of this process's user.

    Reads the list of all sockets, which takes milliseconds: ask once for a connection.

    Args:
        peer: Address and port of the other end, IPv4.
        own: Address and port of this end.
    """
    return user_of(peer, own) == os.getuid()


def user_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """Return the user id of the program at the other end; None if that is unknown."""
    try:
        wanted = _in_table(*peer), _in_table(*own)
        rows = _rows(TABLE)
    except (OSError, ValueError):
        return None
    for row in rows:
        if (row[LOCAL], row[REMOTE]) == wanted and row[STATE] == ESTABLISHED:
            return int(row[UID])
    return None


def is_own_server(port: int) -> bool:
    """Return whether programs of this user alone listen at a port; True if nothing tells."""
    if not can_tell():
        return True
    rows = _rows(TABLE) + (_rows(TABLE6) if TABLE6.exists() else [])
    end = f":{port:04X}"
    users = {int(row[UID]) for row in rows if row[STATE] == LISTENING and row[LOCAL].endswith(end)}
    return users == {os.getuid()}


def _rows(table: Path) -> list[list[str]]:
    rows = map(str.split, table.read_text().splitlines()[1:])
    return [row for row in rows if len(row) > UID]


def _in_table(address: str, port: int) -> str:
    """Return an IPv4 address and a port as the table has them: hexadecimal, in host byte order."""
    packed = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    return f"{packed:08X}:{port:04X}"


def same_server(url: str, other: str) -> bool:
    """Return whether two base URLs name one server: the same port of one host, or of this machine.

    False for a URL that is empty or cannot be parsed.
    """
    hosts = [host_of(url), host_of(other)]
    ports = {host.rpartition(":")[2] for host in hosts}
    near = all(hosts) and len(ports) == 1
    return near and (hosts[0] == hosts[1] or (is_local(url) and is_local(other)))


def host_of(url: str) -> str:
    """Return a base URL's host and port; "" for one that cannot be parsed."""
    try:
        return host_and_port(url)
    except SlowcatError:
        return ""


def is_elsewhere(url: str) -> bool:
    """Return whether a URL's host is another machine; True as well if its name does not resolve."""
    try:
        check_loopback(url)
    except SlowcatError:
        return True
    return False


def is_local(url: str) -> bool:
    """Return whether a base URL is served by this machine, and not through a proxy."""
    return not is_elsewhere(url) and not _through_proxy(url)


def _through_proxy(url: str) -> bool:
    """Return whether the environment sends this through a proxy, as Pipecat's clients do."""
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    proxied = proxies.get(parts.scheme) or proxies.get("all")
    return bool(proxied) and not urllib.request.proxy_bypass(parts.hostname or "")
