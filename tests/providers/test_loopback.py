import socket

import pytest

from slowcat_memory.errors import ConfigError, EndpointError, EndpointRefusedError
from slowcat_memory.providers.loopback import check_loopback, host_and_port
from tests.support.rows import each_row, listed, listed_texts


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 0)) for a in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@each_row("url", listed_texts("rules/loopback", "check_loopback_this_machine_is_allowed"))
def test_check_loopback_this_machine_is_allowed(url: str) -> None:
    check_loopback(url)


@each_row(
    ("url", "host"), listed("rules/loopback", "check_loopback_other_machines_are_refused_by_name")
)
def test_check_loopback_other_machines_are_refused_by_name(url: str, host: str) -> None:
    with pytest.raises(EndpointRefusedError, match=host) as caught:
        check_loopback(url)
    assert "allow_remote" in caught.value.hint
    check_loopback(url, allow_remote=True)


def test_check_loopback_every_address_of_a_name_must_be_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving(monkeypatch, "127.0.0.1")
    check_loopback("http://llm.test/v1")
    resolving(monkeypatch, "127.0.0.1", "192.0.2.7")
    with pytest.raises(EndpointRefusedError, match=r"llm\.test"):
        check_loopback("http://llm.test/v1")


@pytest.mark.parametrize("url", ["", "localhost:1234", "ftp://127.0.0.1", "http://", "http://a:b"])
def test_check_loopback_what_is_no_url_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError):
        check_loopback(url)


def test_check_loopback_secrets_in_a_url_are_not_repeated() -> None:
    assert host_and_port("http://me:secret@127.0.0.1:99/v1?key=secret") == "127.0.0.1:99"
    assert host_and_port("https://[::1]/v1") == "[::1]:443"
    with pytest.raises(EndpointRefusedError) as caught:
        check_loopback("http://me:secret@192.0.2.7/v1")
    assert "secret" not in str(caught.value)


def test_check_loopback_an_unknown_name_is_an_endpoint_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(EndpointError, match=r"llm\.test"):
        check_loopback("http://llm.test/v1")
