"""Which model servers run on this machine, and which one to talk to.

Looks at the usual ports of loopback, all at once, with plain sockets: no proxy, no redirect, no
name to resolve. What is found is asked for its models, and for nothing else.
"""

import http.client
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers import check_loopback

_MOST_BYTES = 1 << 20  # of a list of models
_FIRST_ANSWER_S = 5.0  # a server that was named may be slow to answer


@dataclass(frozen=True)
class Known:
    """A kind of model server.

    Parameters:
        name: What people call it.
        port: Where it listens unless told otherwise.
        start: The commands that start it, with a small model.
    """

    name: str
    port: int
    start: tuple[str, ...]


KNOWN = (
    Known("LM Studio", 1234, ("lms get qwen3-4b", "lms load qwen3-4b", "lms server start")),
    Known("Ollama", 11434, ("ollama serve", "ollama pull llama3.2")),
    Known("llama.cpp", 8080, ("llama-server -hf ggml-org/gemma-3-4b-it-GGUF --port 8080",)),
)


@dataclass(frozen=True)
class Server:
    """A model server that answers.

    Parameters:
        name: What people call it.
        url: Its base URL, with `/v1`.
        models: The models that it offers.
    """

    name: str
    url: str
    models: tuple[str, ...]

    def model(self, wanted: str = "") -> str:
        """Choose a model.

        Args:
            wanted: Its name, "" for the first that talks.

        Returns:
            The name.

        Raises:
            EndpointError: The server offers none.
        """
        talks = [name for name in self.models if "embed" not in name.casefold()]
        if wanted or talks:
            return wanted or talks[0]
        raise EndpointError(f"{self.name} at {self.url} has no model loaded", hint="Load one")


def find_servers(timeout_s: float = 0.3, known: Sequence[Known] = KNOWN) -> list[Server]:
    """Look for model servers on this machine. Blocks for no longer than the timeout.

    Args:
        timeout_s: How long one may take to answer.
        known: Where to look.

    Returns:
        Those that answer, in the order of `known`.
    """

    def look(kind: Known) -> Server | None:
        url = f"http://127.0.0.1:{kind.port}/v1"
        try:
            return Server(kind.name, url, list_models(url, timeout_s))
        except EndpointError:
            return None

    with ThreadPoolExecutor(len(known) or 1) as pool:
        return [server for server in pool.map(look, known) if server]


def choose_server(url: str = "", allow_remote: bool = False) -> Server | None:
    """Take the server that was named, or look for one.

    Args:
        url: Its base URL, "" to look on this machine.
        allow_remote: The user's leave to talk to another machine.

    Returns:
        The server; None when none was named and none is there.

    Raises:
        ConfigError: The URL is none.
        EndpointRefusedError: It is not on this machine.
        EndpointError: It does not answer.
    """
    if url:
        check_loopback(url, allow_remote)
        server: Server | None = Server(
            "the server", url.rstrip("/"), list_models(url, _FIRST_ANSWER_S)
        )
    else:
        found = find_servers()
        server = next((server for server in found if server.models), found[0] if found else None)
    if server and not allow_remote:
        _pass_by_proxies(server.url)
    return server


def list_models(url: str, timeout_s: float) -> tuple[str, ...]:
    """Ask a server for its models.

    Args:
        url: Its base URL, with `/v1`.
        timeout_s: How long it may take to connect, and to answer.

    Returns:
        Their names.

    Raises:
        EndpointError: It does not answer, or with something else.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        response = connection.getresponse()
        body = response.read(_MOST_BYTES)
        if response.status != 200:
            raise EndpointError(f"{url} answers with status {response.status}")
        return _names(json.loads(body))
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
        hint = "Is the server running, and does the URL end in /v1?"
        raise EndpointError(f"no model server answers at {url}", hint=hint) from error
    finally:
        connection.close()


def _names(answer: Any) -> tuple[str, ...]:
    return tuple(str(entry["id"]) for entry in answer["data"] or ())


def _pass_by_proxies(url: str) -> None:
    """Keep what goes to this machine on it, whatever proxy the environment names."""
    host = urlsplit(url).hostname or ""
    for name in ("NO_PROXY", "no_proxy"):
        named = [part for part in os.environ.get(name, "").split(",") if part]
        if host not in named:
            os.environ[name] = ",".join([*named, host])
