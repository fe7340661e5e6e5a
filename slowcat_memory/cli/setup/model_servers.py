"""Finds the model servers on this machine, and chooses one.

Tries the usual loopback ports in parallel, without proxy, redirects or name resolution, and only
requests the list of models.
"""

import http.client
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from slowcat_memory.errors import EndpointError
from slowcat_memory.providers import check_loopback

_MOST_BYTES = 1 << 20  # of a list of models
_FIRST_ANSWER_S = 5.0  # a server that was named may be slow to answer


class Known(Struct, frozen=True):
    """A kind of model server: its default port, and commands that start it with a small model."""

    name: str
    port: int
    start: tuple[str, ...]


KNOWN = (
    Known("LM Studio", 1234, ("lms get qwen3-4b", "lms load qwen3-4b", "lms server start")),
    Known("Ollama", 11434, ("ollama serve", "ollama pull llama3.2")),
    Known("llama.cpp", 8080, ("llama-server -hf ggml-org/gemma-3-4b-it-GGUF --port 8080",)),
)


class Server(Struct, frozen=True):
    """A model server that answers; ``url`` ends with ``/v1``."""

    name: str
    url: str
    models: tuple[str, ...]

    def model(self, wanted: str = "") -> str:
        """Return ``wanted``, or the first chat model.

        Raises:
            EndpointError: The server offers none.
        """
        talks = [name for name in self.models if "embed" not in name.casefold()]
        if wanted or talks:
            return wanted or talks[0]
        raise EndpointError(f"{self.name} at {self.url} has no model loaded", hint="Load one")


def find_servers(timeout_s: float = 0.3, known: Sequence[Known] = KNOWN) -> list[Server]:
    """Return the servers on this machine, in the order of ``known``; blocks up to the timeout."""

    def look(kind: Known) -> Server | None:
        url = f"http://127.0.0.1:{kind.port}/v1"
        try:
            return Server(kind.name, url, list_models(url, timeout_s))
        except EndpointError:
            return None

    with ThreadPoolExecutor(len(known) or 1) as pool:
        return [server for server in pool.map(look, known) if server]


def choose_server(url: str = "", allow_remote: bool = False) -> Server | None:
    """Return the server at ``url``, or one found on this machine if ``url`` is "".

    None when none is found.

    Raises:
        ConfigError: The URL is malformed.
        EndpointRefusedError: It is not on this machine, and ``allow_remote`` is off.
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
        _bypass_proxies(server.url)
    return server


def list_models(url: str, timeout_s: float) -> tuple[str, ...]:
    """Return the names of the models of the server at ``url``, which ends with `/v1`.

    Raises:
        EndpointError: It does not answer, or not with a list of models.
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
            hint = "Does the URL end in /v1?"
            raise EndpointError(f"{url} answers with status {response.status}", hint=hint)
        return _names(json.loads(body))
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
        hint = "Is the server running, and does the URL end in /v1?"
        raise EndpointError(f"no model server answers at {url}", hint=hint) from error
    finally:
        connection.close()


def _names(answer: Any) -> tuple[str, ...]:
    return tuple(str(entry["id"]) for entry in answer["data"] or ())


def _bypass_proxies(url: str) -> None:
    """Exclude the server's host from the environment's proxies."""
    host = urlsplit(url).hostname or ""
    for name in ("NO_PROXY", "no_proxy"):
        named = [part for part in os.environ.get(name, "").split(",") if part]
        if host not in named:
            os.environ[name] = ",".join([*named, host])
