"""How a step is taken. `UPDATES` names the rules without importing any."""

from cst.registry import Registry

UPDATES = Registry(
    "update rule",
    "cst.updates",
    {
        "sgd": "cst.updates.sgd:Plain",
        "sam": "cst.updates.sam:SharpnessAware",
        "alternating": "cst.updates.alternating:Alternating",
    },
)
