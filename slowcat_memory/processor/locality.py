"""Decides whether the conversation's LLM runs on this machine.

Decided once, when the pipeline starts, from the server of the LLM service's client. A server that
cannot be determined counts as remote, and so does a local one reached through a proxy.
"""

import urllib.request
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from loguru import logger

from slowcat_memory.errors import SlowcatError
from slowcat_memory.providers import check_loopback
from slowcat_memory.providers.loopback import host_and_port

REMIND = timedelta(days=1)


class Locality:
    """Where the LLM runs.

    ``host`` is its server, or its kind of service if that cannot be determined; "" if unknown.
    """

    def __init__(self, local: bool, host: str = "") -> None:
        self.local, self.host = local, host
        self._reminded: datetime | None = None

    def remind(self, now: datetime) -> None:
        """Warn when memories leave this machine: at the start, and once a day."""
        due = self._reminded is None or now - self._reminded >= REMIND
        if not self.local and self.host and due:
            self._reminded = now
            logger.warning(f"memories leave this machine to {self.host}")


def locate(llm: Any, known: bool | None = None) -> Locality:
    """Return where an LLM service runs, unless the application has set it (``known``).

    May resolve a name: do not call it on the event loop.
    """
    url = base_url(llm)
    host = _host(url) or (type(llm).__name__ if llm is not None else "")
    return Locality(_is_local(url) if known is None else known, host)


def base_url(llm: Any) -> str:
    """Return the base URL of a service's client, "" if there is none."""
    url = getattr(getattr(llm, "_client", None), "base_url", None)
    return "" if url is None else str(url)


def same_server(one: str, other: str) -> bool:
    """Return whether two base URLs name one server: the same port of one host, or of this machine.

    False for a URL that is empty or cannot be parsed.
    """
    hosts = [_host(one), _host(other)]
    ports = {host.rpartition(":")[2] for host in hosts}
    near = all(hosts) and len(ports) == 1
    return near and (hosts[0] == hosts[1] or (_is_local(one) and _is_local(other)))


def _host(url: str) -> str:
    try:
        return host_and_port(url)
    except SlowcatError:
        return ""


def _is_local(url: str) -> bool:
    try:
        check_loopback(url)
    except SlowcatError:
        return False
    return not _through_proxy(url)


def _through_proxy(url: str) -> bool:
    """Return whether the environment sends this through a proxy, as Pipecat's clients do."""
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    proxied = proxies.get(parts.scheme) or proxies.get("all")
    return bool(proxied) and not urllib.request.proxy_bypass(parts.hostname or "")
