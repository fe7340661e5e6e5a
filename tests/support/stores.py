"""Configurations of stores that belong to one test."""

from pathlib import Path
from typing import Any

from slowcat_memory.config import Config, build_options

# A busy machine must not decide what a test recalls: nobody waits for these turns.
PATIENT = {"deadline_ms": 5000.0, "warn_ms": 5000.0}


def configured(path: Path, **sections: dict[str, Any]) -> Config:
    """Configure a store of its own, in UTC, without a model, without haste."""
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": dict(PATIENT),
        "embedding": {"kind": "none"},
        "idle": {"enabled": False},
    }
    for section, knobs in sections.items():
        values[section] = {**values.get(section, {}), **knobs}
    return build_options(values)
