"""Text backbones: any encoder that transformers can load, and MiniLM from its package."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cst.hub import not_loaded, place_of, transformers_library, trusted
from cst.models.frozen import Frozen
from cst.models.parts import Parts, load_weights
from cst.tokens import present, without

if TYPE_CHECKING:
    from cst.models.spec import ModelSpec


def load_transformer(name: str, weights: str, architecture: Mapping[str, Any] | None) -> Any:
    """A model of transformers without a task's head: pretrained, or of an architecture with random weights."""
    transformers = transformers_library()
    missing: set[str] = set()
    try:
        if architecture is not None:
            kind = architecture["model_type"]
            rest = {key: value for key, value in architecture.items() if key != "model_type"}
            config = transformers.AutoConfig.for_model(kind, **rest)
            network = transformers.AutoModel.from_config(config, trust_remote_code=trusted())
        elif weights == "none":
            config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=trusted())
            network = transformers.AutoModel.from_config(config, trust_remote_code=trusted())
        else:
            trust = {"trust_remote_code": trusted()}
            network, loading = transformers.AutoModel.from_pretrained(name, output_loading_info=True, **trust)
            missing = set(loading["missing_keys"])
    except (OSError, ValueError, KeyError) as error:
        raise not_loaded(name, error) from None
    network = network.float()  # some are kept in half precision
    if architecture is None and weights not in ("pretrained", "none"):
        missing = load_weights(network, weights, optional="pooler.")
    if any(key.startswith("pooler.") for key in missing):
        network.config.without_pooler = True  # it would be random, and its features with it
    if getattr(network.config, "without_pooler", False):
        network.pooler = None
    if hasattr(network.config, "mask_ratio"):  # patches hidden for pretraining
        network.config.mask_ratio = 0.0
    return network


class TextNetwork(nn.Module):
    """Token numbers [N, L], or token vectors [N, L, d], to features [N, d]."""

    def __init__(self, network: Any, pooling: str) -> None:
        super().__init__()
        self.network, self.pooling = network, pooling

    def embed(self, tokens: Tensor) -> Tensor:
        """Word vectors of token numbers; the place for a perturbation."""
        if tokens.is_floating_point():
            return tokens
        vectors: Tensor = self.network.get_input_embeddings()(tokens.clamp_min(0))
        return without(vectors, ~present(tokens))

    def forward(self, tokens: Tensor) -> Tensor:
        """Mean over the tokens, or the first."""
        positions = present(tokens)
        last = encoded(self.network, self.embed(tokens), positions)
        if self.pooling == "cls":
            return last[:, 0]
        weight = positions.unsqueeze(-1).to(last.dtype)
        return (last * weight).sum(1) / weight.sum(1).clamp_min(1)


def encoded(network: Any, vectors: Tensor, positions: Tensor) -> Tensor:
    """The last hidden states of token vectors."""
    plain = vectors.nan_to_num(0.0)
    return network(inputs_embeds=plain, attention_mask=positions.long()).last_hidden_state  # type: ignore[no-any-return]


class LowerLayers(nn.Module):
    """The embeddings and the first layers of an encoder: token numbers to token vectors."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states, nothing where there is no token."""
        positions = present(tokens)
        ids = tokens.clamp_min(0)
        last: Tensor = self.network(input_ids=ids, attention_mask=positions.long()).last_hidden_state
        return without(last, ~positions)


class _AsGiven(nn.Module):
    """In the place of embeddings: the vectors are there already."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Tensor:
        return inputs_embeds


def split(network: Any, count: int) -> tuple[Any, Any]:
    """The embeddings and first ``count`` layers, and the rest, as two networks of the same kind."""
    layers = getattr(getattr(network, "encoder", None), "layer", None)
    refusal = f"The layers of {type(network).__name__} cannot be frozen one by one: leave out freeze=."
    if layers is None or not hasattr(network, "embeddings"):
        raise ValueError(refusal)
    if count >= len(layers):
        raise ValueError(f"freeze={count} leaves nothing to train: the backbone has {len(layers)} layers.")
    lower, upper = network, copy.deepcopy(network)
    whole = _of_some_tokens(network)
    upper.encoder.layer = upper.encoder.layer[count:]
    upper.embeddings = _AsGiven()
    lower.encoder.layer = layers[:count]
    if not _is_divided(lower, upper, whole):
        raise ValueError(refusal)
    return lower, upper


@torch.no_grad()
def _of_some_tokens(network: Any) -> Tensor:
    network.eval()
    return network(input_ids=torch.tensor([[1, 0, 1]])).last_hidden_state  # type: ignore[no-any-return]


@torch.no_grad()
def _is_divided(lower: Any, upper: Any, whole: Tensor) -> bool:
    """Whether two parts in a row do what the whole did; some encoders do more than one layer after the other."""
    upper.eval()
    try:
        states = upper(inputs_embeds=_of_some_tokens(lower)).last_hidden_state
    except RuntimeError:
        return False
    return states.shape == whole.shape and torch.allclose(states, whole, atol=1e-4)


def _longest(network: Any) -> int | None:
    """How many tokens a network has positions for; some keep the first for themselves, up to that of padding."""
    most = getattr(network.config, "max_position_embeddings", None)
    positions = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    reserved = getattr(positions, "padding_idx", None)
    return most if most is None or reserved is None else most - reserved - 1


def text_parts(spec: ModelSpec, weights: str) -> Parts:
    """The frozen part (or nothing) and the trained part of a text backbone."""
    place = "" if spec.architecture else place_of(spec.backbone)
    network = load_transformer(place, weights, spec.architecture or None)
    if not hasattr(network.config, "vocab_size"):
        raise ValueError(f"Backbone '{spec.backbone}' is not a text model, but the data are text.")
    most, length = _longest(network), spec.encoding["max_length"]
    if most is not None and length > most:
        raise ValueError(f"max_length={length}: backbone '{spec.backbone}' reads at most {most} tokens.")
    network.pooler = None
    plain = json.loads(network.config.to_json_string(use_diff=False))
    if not spec.freeze:
        return Parts(nn.Identity(), TextNetwork(network, spec.pooling), plain)
    lower, upper = split(network, spec.freeze)
    return Parts(Frozen(LowerLayers(lower), Tensor.is_floating_point), TextNetwork(upper, spec.pooling), plain)
