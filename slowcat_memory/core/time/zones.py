"""The user's time zone, by name."""

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slowcat_memory.errors import ConfigError

LOCALTIME = Path("/etc/localtime")  # a link into the zones' own folder


def zone_of(name: str) -> tzinfo:
    """Find a time zone.

    Args:
        name: An IANA name, "" for this machine's zone.

    Returns:
        The zone.

    Raises:
        ConfigError: There is no such zone.
    """
    if not name:
        return _of_this_machine()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"memory.time_zone: there is no {name!r}",
            hint="Take an IANA name such as Europe/Lisbon",
        ) from error


def _of_this_machine() -> tzinfo:
    """Find the machine's zone by name, for only that knows when its summer time begins.

    Returns:
        The zone; where it has no name, the offset that holds now.
    """
    linked = os.path.realpath(LOCALTIME).partition("/zoneinfo/")[2]
    try:
        return ZoneInfo(os.environ.get("TZ") or linked)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or UTC
