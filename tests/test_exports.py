import re
from pathlib import Path

import slowcat_memory
from slowcat_memory import testing


def test_exports_public_names_are_sorted_and_there() -> None:
    for module in (slowcat_memory, testing):
        assert list(module.__all__) == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name).__name__ == name or callable(getattr(module, name))


def test_exports_every_public_name_has_a_home_and_a_type() -> None:
    assert set(slowcat_memory.__all__) == set(slowcat_memory._HOMES)
    source = Path(slowcat_memory.__file__).read_text()
    typed = source.partition("if TYPE_CHECKING:")[2].partition("_HOMES")[0]
    assert set(re.findall(r"\w+(?=,|\n)", re.sub(r"from \S+ import ", "", typed))) == set(
        slowcat_memory.__all__
    )
