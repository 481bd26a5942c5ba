"""The parts that a backbone comes in, and weights from files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

COUNTER = "num_batches_tracked"


@dataclass(frozen=True)
class Parts:
    """A backbone in parts.

    Attributes:
        prepare: what happens to encoded inputs first: standardisation, frozen layers.
        trained: maps what comes out of it to features [N, d].
        architecture: in plain values, where the name alone does not say it.
    """

    prepare: nn.Module
    trained: nn.Module
    architecture: dict[str, Any] = field(default_factory=dict)


def load_weights(network: nn.Module, path: str, optional: str = "-") -> set[str]:
    """Weights from a file that ``torch.save`` or safetensors wrote; a classifier in it is left out.

    The network may have been saved as a part of another: a name in front of all of its own is taken off.
    Returned are the weights that the file lacks, which must begin with ``optional`` (or be counters, as in old files).
    """
    if not Path(path).is_file():
        raise ValueError(f"There is no file of weights at {path}.")
    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            state: Any = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
        state = dict(state.get("state_dict", state))
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(":.")
        raise ValueError(f"{path} holds no weights that can be read ({reason}).") from None
    expected = network.state_dict()
    fronts = ["", *dict.fromkeys(name.partition(".")[0] + "." for name in state)]
    front = max(fronts, key=lambda front: sum(front + name in state for name in expected))
    weights = {name: state[front + name] for name in expected if front + name in state}
    lacking = [name for name in expected if name not in weights]
    needed = [name for name in lacking if not name.startswith(optional) and not name.endswith(COUNTER)]
    other = [name for name in weights if getattr(weights[name], "shape", None) != expected[name].shape]
    if needed or other:
        reason = f"{needed[0]} is missing" if needed else f"{other[0]} has another shape"
        raise ValueError(f"The weights in {path} do not fit the backbone: {reason}.")
    network.load_state_dict(weights, strict=False)
    return set(lacking)
