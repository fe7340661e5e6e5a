"""A model in ONNX Runtime: any model, on any machine that has no faster form of it."""

from pathlib import Path

import numpy as np
import onnxruntime as ort

from slowcat_memory.providers.embedding import export_format

_ERRORS_ONLY = 3  # onnxruntime's severity
NOT_FUSED = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion", "BiasGeluFusion"]
"""Fusions that onnxruntime must not do at load: unfused, layer norms take half the time, and biases cost
nothing inside the int8 products."""


class OnnxModel:
    """See ``local.Model``. A session's ``run`` may be called from any thread."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Load an ONNX file for the CPU; onnxruntime raises errors of its own."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=NOT_FUSED,
        )

    def run(
        self, ids: list[int], with_tokens: bool = False
    ) -> tuple[np.ndarray, np.ndarray | None]:
        row = np.array([ids], np.int64)
        feed = dict(zip(export_format.INPUTS, (row, np.ones_like(row)), strict=True))
        names = [export_format.OUTPUT, *([export_format.TOKEN_OUTPUT] if with_tokens else ())]
        vectors, *tokens = self._session.run(names, feed)
        return vectors[0], tokens[0][0] if tokens else None

    def touch(self) -> None:
        """Do nothing: onnxruntime does not show where its weights are."""
