"""The user's time zone, by name."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slowcat_memory.errors import ConfigError


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
        return datetime.now().astimezone().tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"memory.time_zone: there is no {name!r}",
            hint="Take an IANA name such as Europe/Lisbon",
        ) from error
