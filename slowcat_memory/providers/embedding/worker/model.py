"""Loads a sentence-transformers model; imported by child processes only.

The folder is on this machine, or is downloaded from the model hub once. Loading uses no network,
runs no code from the model's repository, and stays on the CPU.
"""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import model_files

_DOC_PROMPTS = ("document", "passage", "corpus")  # prompt names of models, in order of preference
_QUERY_PROMPTS = ("query",)
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors", "*/*.safetensors", "*/*.json"]
_HUB_PICKLES = ["pytorch_model*.bin", "*/pytorch_model*.bin"]
_HUB_NOT = ["onnx/*", "openvino/*"]


def fetch(model: str) -> Path:
    """Return a model's folder, downloading the model when it is not on this machine.

    Raises:
        ModelNotFoundError: It is not here and cannot be downloaded.
    """
    source = model_files.resolve(model)
    return source.where or _download(model, source.via)


def load(folder: Path, threads: int) -> Any:
    """Load a ``SentenceTransformer`` on the CPU, in fp32, for inference.

    Raises:
        ProviderError: It is not supported; the message says why.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    plain = {"attn_implementation": "eager"}  # the exporter can trace it
    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs=plain
    )
    model = model.float().eval()
    if any(getattr(module, "include_prompt", True) is False for module in model):
        raise ProviderError("models that exclude their prompt from pooling are not supported")
    return model


def tokenizer_of(model: Any) -> Tokenizer:
    """Return a copy of a model's tokenizer that neither pads nor truncates.

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
        except (
            Exception
        ) as error:  # the hub client raises its own errors, the http client's, and OSError
            raise model_files.not_downloadable(model, type(error).__name__) from error
        if any(Path(folder).rglob("*.safetensors")):
            break  # the pickled files hold the same weights
    return Path(folder)
