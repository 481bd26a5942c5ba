"""How a step is taken. `UPDATES` names the rules without importing any."""

UPDATES = {
    "sgd": "cst.updates.sgd:Plain",
    "sam": "cst.updates.sam:SharpnessAware",
    "alternating": "cst.updates.alternating:Alternating",
}
