"""Which samples meet in a step. `SAMPLINGS` names the rules without importing any."""

from cst.registry import Registry

SAMPLINGS = Registry(
    "sampling rule",
    "cst.samplings",
    {
        "uniform": "cst.sampling.rules:Uniform",
        "balanced": "cst.sampling.rules:Balanced",
        "ia": "cst.sampling.rules:Aligned",
    },
)
