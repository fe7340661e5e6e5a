"""What a server says of itself, as it is shown and kept."""

import pytest

from slowcat_memory.providers.llm.server import Server, label


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("qwen3:4b", "qwen3:4b"),
        ("/models/my model.gguf", "/models/my model.gguf"),
        ("a\nb\x1b[31mc\x00\u202ed", "a b [31mc d"),
        ("x" * 500, "x" * 80),
        ("\n\x1b", ""),
    ],
)
def test_server_info_a_models_name_is_one_printable_line(sent, shown) -> None:
    assert label(sent) == shown
    server = Server(kind="server", model=sent)
    assert server.model == sent and server.name == shown
