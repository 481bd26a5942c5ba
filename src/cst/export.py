"""A model for programs without cst: one file that maps encoded inputs to probabilities, and a page on the encoding."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cst.config.settings import versions
from cst.engine.adapted import Adapted
from cst.extras import missing
from cst.files import check_place, write_aside, write_text_aside
from cst.models.batch_norm import DomainBatchNorm
from cst.models.model import Model
from cst.spelling import unknown

FILES = {"onnx": "model.onnx", "torch": "model.pt2"}
"""Forms, and what the file of each is called."""
PAGE = "export.json"


class Classifier(nn.Module):
    """Encoded inputs [N, ...] -> probabilities [N, K] on the target: standardisation, backbone, head, temperature.

    >>> from cst.models.model import Model
    >>> classifier = Classifier(Model(nn.Flatten(), nn.Linear(4, 3)))
    >>> classifier(torch.zeros(2, 4)).sum(1)
    tensor([1., 1.], grad_fn=<SumBackward1>)
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.features = nn.Sequential(model.prepare, model.backbone)
        self.head, self.temperature = model.head, model.temperature
        for part in self.modules():
            if isinstance(part, DomainBatchNorm):
                part.domain = "target"
        self.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        """Softmax of the logits over the temperature."""
        logits: Tensor = self.head(self.features(inputs))
        return (logits / self.temperature).softmax(-1)


def export(adapted: Adapted, folder: Path | str, form: str = "onnx") -> Path:
    """Write a model into ``folder`` and return the file; any number of inputs may go through it at once.

    Args:
        adapted: the model.
        folder: where ``model.onnx`` or ``model.pt2`` goes, with ``export.json`` and what the encoding needs beside it.
        form: ``"onnx"``, for onnxruntime and others, or ``"torch"``, for ``torch.export.load``.
    """
    if form not in FILES:
        raise ValueError(f"format=: {unknown('format', form, FILES)}")
    place = Path(folder)
    check_place(place, "out=")
    if place.is_file() or (place.is_dir() and any(place.iterdir()) and not (place / PAGE).is_file()):
        raise ValueError(f"out={place} holds other files: choose a folder of its own.")
    examples = adapted.kind.examples(adapted.spec.encoder)
    device = next(adapted.model.parameters()).device
    classifier, inputs = Classifier(adapted.model), examples.to(device)
    # Of sequences the length varies as well.
    varying = range(1 if adapted.spec.encoder.shape else 2)
    shapes = (dict.fromkeys(varying, torch.export.Dim.AUTO),)
    file = place / FILES[form]
    with _quiet(), torch.no_grad():
        writer = _write_onnx if form == "onnx" else _write_torch
        write_aside(file, lambda aside: writer(classifier, inputs, shapes, aside))
    adapted.spec.encoder.save(place)
    write_text_aside(place / PAGE, json.dumps(_page(adapted, file, examples), indent=2) + "\n")
    return file


def _write_onnx(classifier: nn.Module, inputs: Tensor, shapes: Any, path: Path) -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise missing(str(error.name), "format=onnx") from None
    program = torch.onnx.export(
        classifier,
        (inputs,),
        dynamo=True,
        dynamic_shapes=shapes,
        input_names=["inputs"],
        output_names=["probabilities"],
        verbose=False,
    )
    assert program is not None
    program.save(str(path))


def _write_torch(classifier: nn.Module, inputs: Tensor, shapes: Any, path: Path) -> None:
    program = torch.export.export(classifier, (inputs,), dynamic_shapes=shapes)
    with path.open("wb") as file:
        torch.export.save(program, file)


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters speak of packages that nobody needs here."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _page(adapted: Adapted, file: Path, examples: Tensor) -> dict[str, Any]:
    """What somebody must know who uses the file without cst."""
    axes = [None] if adapted.spec.encoder.shape else [None, None]
    return {
        **versions(),
        "file": file.name,
        "data": adapted.kind.name,
        "inputs": {"dtype": str(examples.dtype).removeprefix("torch."), "shape": [*axes, *adapted.spec.encoder.shape]},
        "encoding": adapted.kind.explained(adapted.spec.encoder),
        "classes": list(adapted.classes),
        "method": adapted.settings.method,
        "verdict": None if adapted.verdict is None else adapted.verdict.word,
    }
