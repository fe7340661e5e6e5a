"""``mcp`` and ``calls`` on the command line: what is refused, and what is shown."""

import stat

from slowcat_memory.cli import serve
from slowcat_memory.records import CallEntry, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock


def test_mcp_a_token_file_is_made_for_this_user_alone_and_read_again(tmp_path) -> None:
    file = tmp_path / "token"
    made = serve.token_of(file)
    assert len(made) >= serve.LEAST_TOKEN and serve.token_of(file) == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_mcp_refuses_options_that_would_leave_it_open_or_do_nothing(filled, tmp_path) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    assert "too short" in filled.fails("mcp", "--http", "--token-file", str(file))
    assert "token is needed" in filled.fails("mcp", "--http", "--host", "0.0.0.0")
    assert "needs --http" in filled.fails("mcp", "--token-file", str(file), code=2)


def test_mcp_without_the_extra_names_it(filled, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert 'pip install ".[mcp]"' in filled.fails("mcp")


def test_calls_show_who_asked_and_when_but_no_text(filled) -> None:
    assert "No program has asked yet" in filled("show", "calls").stderr
    with Store.open(filled.store) as store:
        for number in range(3):
            call = CallEntry(
                scope="anna", client="Desk\x1b[2J", tool="search_memory", at=FixedClock()(),
                memories=("chunk/1",) * number,
            )  # fmt: skip
            store.apply("mcp", WriteBatch(call=call)).wait()
    text = filled.ok("show", "calls", "--limit", "2")
    assert "Desk" in text and "\x1b[2J" not in text and "2 memories" in text
    assert "0 memories" not in text, "the oldest is beyond --limit"
    assert [one["id"] for one in filled.json("show", "calls")] == [1, 2, 3]
