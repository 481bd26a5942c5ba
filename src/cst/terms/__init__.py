"""The summands of objectives, one a file. `TERMS` names them without importing any."""

from cst.registry import Registry

TERMS = Registry(
    "term",
    "cst.terms",
    {
        "source": "cst.terms.source:Source",
        "cycle": "cst.terms.cycle:Cycle",
        "tsallis": "cst.terms.tsallis:Tsallis",
        "entropy": "cst.terms.entropy:Entropy",
        "self-training": "cst.terms.self_training:SelfTraining",
        "confusion": "cst.terms.confusion:Confusion",
        "fixmatch": "cst.terms.fixmatch:FixMatch",
        "dan": "cst.terms.mmd:DAN",
        "jan": "cst.terms.mmd:JAN",
        "dann": "cst.terms.dann:DANN",
        "cdan": "cst.terms.cdan:CDAN",
        "mcd": "cst.terms.mcd:MCD",
        "mdd": "cst.terms.mdd:MDD",
        "vat": "cst.terms.vat:VAT",
        "source-vat": "cst.terms.vat:SourceVAT",
        "mixmatch": "cst.terms.mixmatch:MixMatch",
        "cbst": "cst.terms.cbst:CBST",
        "kld": "cst.terms.cbst:KLD",
        "refine": "cst.terms.refine:Refine",
        "afn": "cst.terms.afn:AFN",
        "star": "cst.terms.star:STAR",
        "sentry": "cst.terms.sentry:Sentry",
        "coal": "cst.terms.coal:COAL",
        "rwot": "cst.terms.rwot:RWOT",
        "mcc": "cst.terms.mcc:MCC",
        "mean-teacher": "cst.terms.mean_teacher:MeanTeacher",
    },
)
