"""What idle work changes is told to the application, by ids and kinds."""

import pytest

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.errors import ConfigError


@pytest.mark.parametrize("path", ["~no-such-user-here/memory", "a\0b", " "])
def test_load_config_a_path_that_names_no_folder_is_refused_at_once(config, path):
    with pytest.raises(ConfigError, match="memory.path"):
        HybridContextualMemoryProcessor(config=config, path=path)
