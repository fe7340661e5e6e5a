"""``budget.toml``: the project is no larger than it says, and it never says more than before."""

import shutil
import subprocess
from typing import Any

import pytest

from tests.support import budget
from tests.support.budget import BUDGET, ROOT, lowered, measured, over, read, written
from tests.support.rows import cases


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return measured(ROOT)


@pytest.fixture(scope="module")
def allowed() -> dict[str, Any]:
    return read(BUDGET.read_text("utf-8"))


def earlier_versions() -> list[str]:
    """Return what ``budget.toml`` was in each commit; nothing without the history."""
    git = ("git", "-C", str(ROOT))
    log = subprocess.run(
        (*git, "log", "--format=%h", "--", BUDGET.name), capture_output=True, text=True
    )
    show = [(*git, "show", f"{commit}:{BUDGET.name}") for commit in log.stdout.split()]
    return [subprocess.run(each, capture_output=True, text=True).stdout for each in show]


JOINED = {"owner": "engine"}  # parts that lie in another since


def rises(earlier: dict[str, Any], later: dict[str, Any]) -> list[str]:
    """Say where a later budget allows more than an earlier one; what has joined counts for both."""
    parts = dict(earlier["parts"])
    for part, into in JOINED.items():
        if part in parts and part not in later["parts"]:
            both = parts[part], parts[into]
            parts[into] = {unit: sum(each[unit] for each in both) for unit in parts[into]}
    earlier = earlier | {"parts": parts}
    known = {part: units for part, units in later["parts"].items() if part in earlier["parts"]}
    sizes = {name: size for name, size in later["data"].items() if name in earlier["data"]}
    said = over(later | {"parts": known, "data": sizes}, earlier)
    before, after = sum(earlier["data"].values()), sum(later["data"].values())
    return said + ([f"data: {after - before:,} bytes more"] if after > before else [])


def test_budget_is_kept(now, allowed):
    assert over(now, allowed) == []


def test_budget_lists_nothing_that_is_gone(now, allowed):
    """A list shrinks in the commit that mends an entry, so that it cannot come back."""
    for kind in budget.LISTS:
        assert [name for name in allowed[kind] if name not in now[kind]] == []
    assert [name for name in allowed["data"] if name not in now["data"]] == []


def test_budget_only_falls(allowed):
    versions = earlier_versions()
    if not versions:
        pytest.skip("no history of budget.toml here")
    assert {i: found for i, v in enumerate(versions) if (found := rises(read(v), allowed))} == {}


def test_budget_a_higher_number_is_caught(allowed):
    store = allowed["parts"]["store"]
    parts = allowed["parts"] | {"store": store | {"lines": store["lines"] + 1}}
    assert rises(allowed, allowed | {"parts": parts}) == [
        f"store: {store['lines'] + 1:,} lines, 1 above the budget"
    ]
    assert rises(allowed, allowed | {"data": allowed["data"] | {"new.txt": 5}}) == [
        "data: 5 bytes more"
    ]


@cases("budget_faults.jsonl", "")
def test_budget_catches(tmp_path, file, text, said):
    for folder in ("store", "core/language", "web/static", "more"):
        (tmp_path / "slowcat_memory" / folder).mkdir(parents=True)
    (tmp_path / "slowcat_memory/store/rows.py").write_text("x = 1\n")
    before = measured(tmp_path)
    (tmp_path / "slowcat_memory" / file).write_text(text)
    found = over(measured(tmp_path), before)
    assert len(found) >= len(said)
    assert all(any(part in line for line in found) for part in said)
    assert bool(found) == bool(said)


def test_budget_counts_code_alone(tmp_path):
    source = '"""Doc.\n\nMore."""\n\nimport x  # why\n\n\ndef f(a):\n    """Doc."""\n    return (\n        a\n    )\n'
    (tmp_path / "a.py").write_text(source)
    assert budget.count(tmp_path / "a.py") == budget.Count(lines=5, python=5, tokens=12)


def test_budget_catches_classes_files_and_circles(tmp_path):
    package = tmp_path / "slowcat_memory"
    package.mkdir()
    (package / "a.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from slowcat_memory import b\nclass View: ...\n"
    )
    (package / "b.py").write_text("from slowcat_memory import a\nclass View: ...\n")
    assert budget.repeated_classes(package) == ["View"]
    assert budget.type_circles(package) == ["a -> b"]
    assert budget.small_files(package) == ["a", "b"]
    (package / "c.py").write_text("from slowcat_memory import a, b\n")
    assert budget.small_files(package) == []


def test_budget_is_lowered_and_written_as_it_is_read(allowed):
    assert read(written(allowed)) == allowed
    store = allowed["parts"]["store"]
    less = allowed | {"parts": allowed["parts"] | {"store": {u: n - 1 for u, n in store.items()}}}
    assert lowered(less, allowed) == less == lowered(allowed, less)


def test_budget_without_git_counts_every_file(tmp_path, now):
    shutil.copytree(ROOT / "slowcat_memory" / "tools", tmp_path / "slowcat_memory" / "tools")
    assert measured(tmp_path)["parts"]["tools"] == now["parts"]["tools"]
