"""The summands of objectives, one a file. `TERMS` names them without importing any."""

TERMS = {
    "source": "cst.terms.source:Source",
    "cycle": "cst.terms.cycle:Cycle",
    "tsallis": "cst.terms.tsallis:Tsallis",
    "entropy": "cst.terms.entropy:Entropy",
    "self-training": "cst.terms.self_training:SelfTraining",
    "confusion": "cst.terms.confusion:Confusion",
    "fixmatch": "cst.terms.fixmatch:FixMatch",
}
