import asyncio
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from slowcat_memory.errors import EndpointError, EndpointRefusedError
from slowcat_memory.providers import EmbedderOptions, open_query_embedder
from slowcat_memory.providers.embedding.factory import EndpointEmbedder
from slowcat_memory.testing import check_embedder
from slowcat_memory.testing.server import ScriptedServer
from tests.support.rows import cases
from tests.support.scripted_server import serving

DIM = 6


def vector(text: str, dim: int = DIM) -> list[float]:
    return [float(len(text)), float(sum(map(ord, text)) % 97)] + [2.0] * (dim - 2)


def items(texts: list[str], mode: str) -> list[dict[str, Any]]:
    dim = DIM + (mode == "wider")
    data = [{"index": i, "embedding": vector(text, dim)} for i, text in enumerate(texts)]
    if mode == "short":
        return data[:-1]
    if mode == "twice":
        return data[:1] * len(data)
    if mode == "zero":
        return [item | {"embedding": [0.0] * DIM} for item in data]
    return data[::-1]  # a client must use the index


class EmbeddingServer(ScriptedServer):
    """``mode`` sets how it answers; ``heard`` keeps (path, headers, body) of each request."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.mode = "good"
        self.heard: list[tuple[str, dict[str, str], Any]] = []

    async def _embeddings(self, http: web.Request) -> web.Response:
        body, mode = await http.json(), self.mode
        self.heard.append((http.path, dict(http.headers), body))
        match mode:
            case "slow":
                await asyncio.sleep(3)
            case "500":
                return web.json_response({"error": "out of memory"}, status=500)
            case "redirect":
                raise web.HTTPTemporaryRedirect(f"{self.url}/elsewhere")
            case "html":
                return web.Response(text="<html>hello</html>", content_type="text/html")
        told = json.dumps({"data": items(body["input"], mode)})
        text = told.replace("2.0", {"nan": "NaN", "huge": "1e300"}.get(mode, "2.0"))
        return web.Response(text=text, content_type="application/json")


@pytest.fixture
def endpoint() -> Iterator[EmbeddingServer]:
    with serving(kind=EmbeddingServer) as server:
        yield server


def options(url: str, **more: object) -> EmbedderOptions:
    given = {"endpoint_url": url, "endpoint_model": "tiny", "endpoint_timeout_s": 0.5}
    return EmbedderOptions(kind="endpoint", **given, **more)


def test_endpoint_embedder_contract(endpoint: EmbeddingServer) -> None:
    check_embedder(EndpointEmbedder(options(endpoint.url)))


def test_endpoint_queries_and_documents_are_one_space(endpoint: EmbeddingServer) -> None:
    embedder, report = open_query_embedder(options(endpoint.url))
    assert embedder and report.state == "endpoint"
    host = endpoint.url.removeprefix("http://").removesuffix("/v1")
    assert embedder.key == report.key == f"endpoint:tiny@{host}/{DIM}"
    assert np.allclose(embedder.encode_query("tea").vector, embedder.encode(["tea"]).vectors[0])


def test_endpoint_embedder_prompts_are_put_before(endpoint: EmbeddingServer) -> None:
    embedder = EndpointEmbedder(
        options(endpoint.url, endpoint_query_prompt="q: ", endpoint_doc_prompt="d: ")
    )
    embedder.encode_query("tea")
    embedder.encode(["tea", ""])
    assert [body["input"] for _, _, body in endpoint.heard[1:]] == [
        ["q: tea"],
        ["d: tea", "d: ."],
    ]


def test_endpoint_embedder_documents_go_in_batches(endpoint: EmbeddingServer) -> None:
    EndpointEmbedder(options(endpoint.url, batch_size=4)).encode(["a"] * 10)
    assert max(len(body["input"]) for _, _, body in endpoint.heard) == 4


@cases("providers/endpoint")
def test_endpoint_embedder_a_bad_answer_is_an_error_without_a_second_try(endpoint, mode, words):
    embedder = EndpointEmbedder(options(endpoint.url))
    endpoint.mode, before = mode, len(endpoint.heard)
    with pytest.raises(EndpointError, match=words):
        embedder.encode(["secret words", "two"])
    assert len(endpoint.heard) == before + 1
    endpoint.mode = "good"
    embedder.encode(["again"])


def test_endpoint_a_server_that_is_away_is_reported_not_replaced() -> None:
    embedder, report = open_query_embedder(options("http://127.0.0.1:9/v1"))
    assert embedder is None and report.state == "missing"
    assert "127.0.0.1:9" in report.source and report.hint


def test_endpoint_a_remote_host_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(EndpointRefusedError, match=r"192\.0\.2\.7"):
        open_query_embedder(options("http://192.0.2.7/v1"))


def test_endpoint_embedder_a_name_that_moves_away_is_refused(endpoint, monkeypatch):
    embedder = EndpointEmbedder(options(endpoint.url))
    monkeypatch.setattr("slowcat_memory.providers.loopback._addresses", lambda host: ["192.0.2.7"])
    with pytest.raises(EndpointRefusedError):
        embedder.encode_query("secret words")
    assert len(endpoint.heard) == 1


def test_endpoint_embedder_nothing_of_the_environment_reaches_the_server(endpoint, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Canary: canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/canary")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    EndpointEmbedder(options(endpoint.url)).encode_query("tea")
    for path, headers, _ in endpoint.heard:
        assert path == "/v1/embeddings"
        assert "canary" not in str(headers).lower()
        assert {k.lower(): v for k, v in headers.items()}["authorization"] == "Bearer local"
