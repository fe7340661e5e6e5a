"""Which build of torch is installed: the CUDA build takes gigabytes that nothing here uses."""

import importlib.util
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from msgspec import Struct

GPU_LIBRARIES = ("nvidia-", "triton")
REMEDY = (
    "reinstall torch with the CPU command of PyTorch's installation page, then "
    "`pip uninstall {names}`, unless something else here computes on the GPU"
)


class GpuBuild(Struct, frozen=True, kw_only=True):
    """A CUDA build: its size with the libraries that came with it, and their names."""

    bytes: int
    packages: tuple[str, ...]

    @property
    def remedy(self) -> str:
        """How to be rid of it."""
        return REMEDY.format(names=" ".join(self.packages))


def gpu_build(
    torch: Path | None = None, installed: Iterable[Distribution] | None = None
) -> GpuBuild | None:
    """Return the CUDA build of torch in this environment; None when there is none.

    Reads the packages' lists of files; imports nothing.

    Args:
        torch: The folder of the package torch; None for that of this environment.
        installed: The installed packages; None for those of this environment.
    """
    folder = torch or _folder_of_torch()
    if folder is None or not any(folder.glob("lib/libtorch_cuda*")):
        return None
    found = distributions() if installed is None else installed
    libraries = [one for one in found if one.name.lower().startswith(GPU_LIBRARIES)]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return GpuBuild(
        bytes=size + sum(_sizes(libraries)),
        packages=tuple(sorted({one.name.lower() for one in libraries})),
    )


def _folder_of_torch() -> Path | None:
    spec = importlib.util.find_spec("torch")  # finds the package without importing it
    return Path(spec.origin).parent if spec and spec.origin else None


def _sizes(libraries: Iterable[Distribution]) -> Iterator[int]:
    for library in libraries:
        for file in library.files or ():
            path = Path(str(library.locate_file(file)))
            if path.is_file():
                yield path.stat().st_size
