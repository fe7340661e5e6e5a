"""Configurations of stores for single tests."""

from pathlib import Path
from typing import Any

from slowcat_memory.config import Config, build_options

# Long deadlines: a busy machine must not change what a test recalls.
PATIENT = {"deadline_ms": 20_000.0, "settle_ms": 20_000.0, "warn_ms": 20_000.0}


def configured(path: Path, **sections: dict[str, Any]) -> Config:
    """Configure a store in UTC, without a model, with long deadlines."""
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": dict(PATIENT),
        "embedding": {"kind": "none"},
        "idle": {"enabled": False},
        "thinking": {"url": ""},
    }
    for section, knobs in sections.items():
        values[section] = {**values.get(section, {}), **knobs}
    return build_options(values)
