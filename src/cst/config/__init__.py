"""What the user wrote (`Config`, open) and what a run goes by (`Settings`, complete)."""

from cst.config.options import Config, config_from, load_config
from cst.config.settings import Settings, resolve

__all__ = ["Config", "Settings", "config_from", "load_config", "resolve"]
