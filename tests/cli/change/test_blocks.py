"""blocks and replay: what an agent has in mind, and all of it made again."""


def test_blocks_write_show_and_take_away(sm) -> None:
    sm.ok("remember", "My dog is called Max.")
    assert "There are no blocks yet" in sm("blocks").stderr
    sm.ok("blocks", "persona", "--edit", "You are [bold]Mo[/].")
    sm.ok("blocks", "persona", "--edit", "You are Ida.")
    assert "You are Ida." in sm.ok("blocks") and "user" in sm.ok("blocks", "persona")
    every = sm.json("blocks", "persona", "--history")
    assert [one["text"] for one in every] == ["You are [bold]Mo[/].", "You are Ida."]
    assert every[0]["retired_at"] and [one["facets"]["version"] for one in every] == ["1", "2"]
    sm.ok("blocks", "persona", "--release")
    assert sm.json("blocks", "persona")[0]["facets"]["owner"] == "agent"
    sm.ok("blocks", "persona", "--edit", "")
    assert sm.json("blocks") == []
    assert "name the block" in sm.fails("blocks", "--edit", "x", code=2)
    assert "no label" in sm.fails("blocks", "Big", "--edit", "x", code=2)
    assert "no block" in sm.fails("blocks", "human", "--release", code=2)


def test_blocks_replay_makes_again_what_was_derived(sm) -> None:
    sm.ok("remember", "My dog is called Max.")
    sm.ok("blocks", "persona", "--edit", "You are Ida.")
    sm.ok("idle", "--until-done")
    told = sm.ok("replay", "--dry-run")
    assert ", 0 gone" in told  # a block of the new fact is made when it is due
    assert sm.json("blocks", "persona")[0]["text"] == "You are Ida."
    assert "no idle job" in sm.fails("replay", "--job", "nothing", code=2)
    assert sm.fails("replay", "--answers", str(sm.store / "none"))
