"""Whose program is at the other end of a connection on this machine?

Linux lists every TCP socket with the user who made it. A program of another user, and one that
cannot be found (in a container, or gone), is nobody's.
"""

import os
import socket
import sys
from pathlib import Path

ESTABLISHED = "01"
TABLE = Path("/proc/net/tcp")
LOCAL, REMOTE, STATE, UID = 1, 2, 3, 7  # columns of the table


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


def user_of(peer: tuple[str, int], own: tuple[str, int], table: Path = TABLE) -> int | None:
    """Return the user id of the program at the other end; None if that is unknown."""
    try:
        wanted = _in_table(*peer), _in_table(*own)
        lines = table.read_text().splitlines()[1:]
    except (OSError, ValueError):
        return None
    for line in lines:
        row = line.split()
        if len(row) > UID and (row[LOCAL], row[REMOTE]) == wanted and row[STATE] == ESTABLISHED:
            return int(row[UID])
    return None


def _in_table(address: str, port: int) -> str:
    """Return an IPv4 address and a port as the table has them: hexadecimal, in host byte order."""
    packed = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    return f"{packed:08X}:{port:04X}"
