"""A model as sentence-transformers sees it; only child processes import this.

The folder is found on this machine, or downloaded from the model hub once; loading itself never
touches the network, never runs code that came with the model, and stays on the CPU.
"""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import model_files

_DOC_PROMPTS = ("document", "passage", "corpus")  # names that models use, in order of preference
_QUERY_PROMPTS = ("query",)
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*/*.safetensors", "*/*.json"]
_HUB_PICKLES = ["pytorch_model*.bin", "*/pytorch_model*.bin"]
_HUB_NOT = ["onnx/*", "openvino/*"]


def fetch(model: str) -> Path:
    """Find a model, downloading it when it is nowhere on this machine.

    Args:
        model: A name on the hub, or a path.

    Raises:
        ModelNotFoundError: It is nowhere, the download included.
    """
    source = model_files.resolve(model)
    return source.where or _download(model, source.via)


def load(folder: Path, threads: int) -> Any:
    """Load a model.

    Args:
        folder: What ``fetch`` returned.

    Returns:
        The ``SentenceTransformer``, on the CPU, in fp32, not training.

    Raises:
        ProviderError: It cannot be used here; the message says why.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    plain = {"attn_implementation": "eager"}  # what the exporter can trace
    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs=plain
    )
    model = model.float().eval()
    if any(getattr(module, "include_prompt", True) is False for module in model):
        raise ProviderError("models that leave their prompt out of the mean are not supported")
    return model


def tokenizer_of(model: Any) -> Tokenizer:
    """Take a model's tokenizer.

    Args:
        model: What ``load`` returned.

    Returns:
        A copy that neither pads nor truncates.

    Raises:
        ProviderError: The model has none that the ``tokenizers`` library reads.
    """
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ProviderError("the model has no fast tokenizer")
    tokenizer = Tokenizer.from_str(backend.to_str())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def prompts_of(model: Any) -> tuple[str, str]:
    """Read a model's prompts.

    Args:
        model: What ``load`` returned.

    Returns:
        What it wants before a query and before a document, mostly "".
    """
    prompts: dict[str, str] = model.prompts or {}
    default = prompts.get(model.default_prompt_name or "", "")

    def first(names: tuple[str, ...]) -> str:
        return next((prompts[name] for name in names if prompts.get(name)), default)

    return first(_QUERY_PROMPTS), first(_DOC_PROMPTS)


def _download(model: str, hub_name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    for patterns in (_HUB_FILES, _HUB_PICKLES):
        try:
            folder = snapshot_download(hub_name, allow_patterns=patterns, ignore_patterns=_HUB_NOT)
        except Exception as error:  # the hub client raises its own, the http client's, and OSError
            raise model_files.not_downloadable(model, type(error).__name__) from error
        if any(Path(folder).rglob("*.safetensors")):
            break  # the same weights also come pickled; these are enough
    return Path(folder)
