"""Compiles the kernels when the package is built; without a C compiler the pure package is built.

An editable install gets the library beside its sources. A wheel with the library is tagged
``py3-none-<platform>``, one without it ``py3-none-any``. ``SLOWCAT_TARGET`` builds for another
machine (see ``slowcat_memory/kernels/compiler.py``), ``SLOWCAT_PURE=1`` without the library.
"""

import os
import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]  # no metadata of our own
    """The hook that hatchling calls before it writes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library and put it into the wheel, or beside the sources if editable."""
        if self.target_name != "wheel" or os.environ.get("SLOWCAT_PURE"):
            return
        sys.path.insert(0, self.root)
        from slowcat_memory.kernels import compiler, sources

        target = os.environ.get("SLOWCAT_TARGET", "")
        platform = {"macos": "darwin"}.get(target.partition("-")[0], sys.platform)
        library = sources.library_path(platform)
        self._folder = tempfile.TemporaryDirectory()
        out = library if version == "editable" else Path(self._folder.name) / library.name
        try:
            compiler.compile_library(out, target)
        except compiler.CompilerError as error:
            if target:
                raise
            self.app.display_warning(f"NumPy computes, the kernels are not compiled: {error}")
            return
        if version != "editable":
            inside = library.relative_to(self.root).as_posix()
            build_data["force_include"][str(out)] = inside
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{self._platform(target)}"

    def _platform(self, target: str) -> str:
        from slowcat_memory.kernels.compiler import TARGETS

        if target:
            return TARGETS[target][1]
        return re.sub(r"[.-]", "_", sysconfig.get_platform())
