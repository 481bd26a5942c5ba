"""The catalogue of methods; it reads like the paper's tables.

A method is a sum of terms, an update rule and a sampling rule. The grammar in `cst.grammar` combines them freely.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """A term, an update rule or a sampling rule by name, with its weight and options, or a term as an object."""

    name: str
    weight: float = 1.0
    options: dict[str, Any] = field(default_factory=dict)
    term: Any = None

    def __str__(self) -> str:
        options = ", ".join(f"{key}={_plain(value)}" for key, value in self.options.items())
        weight = f"{self.weight:g} " if self.weight != 1 else ""
        return f"{weight}{self.name}({options})" if options else weight + self.name


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def term(name: str, weight: float = 1.0, **options: Any) -> Part:
    """A summand."""
    return Part(name, weight, options)


@dataclass(frozen=True)
class Method:
    """Terms, an update rule, a sampling rule, and defaults for configuration fields that the user left open."""

    name: str
    terms: tuple[Part, ...]
    update: Part = Part("sgd")
    sampling: Part = Part("uniform")
    defaults: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    reference: str = ""
    tables: str = ""

    @property
    def data(self) -> str:
        """The kinds of data it serves: terms that average inputs leave out text."""
        return "images, vectors" if any(part.name in MIXING for part in self.terms) else "any"

    @property
    def formula(self) -> str:
        """The method as a sum."""
        by = "" if self.update.name == "sgd" else f", updated by {self.update}"
        of = "" if self.sampling.name == "uniform" else f", sampled by {self.sampling}"
        return " + ".join(str(part) for part in self.terms) + by + of


MIXING = ("mixmatch",)
"""Terms that average inputs."""
RAMPED = (
    *("tsallis", "entropy", "confusion", "dan", "jan", "vat", "source-vat"),
    *("sentry", "coal", "rwot", "mcc"),
)
"""Terms whose weight grows from zero over the first epochs after the warm-up (``ramp_epochs``)."""

_SOURCE = term("source")
_PAPER = "Liu, Wang, Long: Cycle Self-Training for Domain Adaptation, NeurIPS 2021"
_CST = (_SOURCE, term("cycle"), term("tsallis"))
# MCD's authors have 256 units for Office, two layers of 1,000 for VisDA and of 100 for small digits.
_HIDDEN = {"bottleneck": 256}
_GUARD = {"guard": 0.4}

AUTO = Method(
    "auto",
    _CST,
    defaults=_GUARD,
    summary="Trains several methods from one warm start and chooses by scores that need no target label.",
)
"""No method of its own: `cst.engine.auto` trains `CANDIDATES`."""
CANDIDATES = ("cst", "mcc", "cdan", "source-only")
"""What it trains, the strongest on average first; the others share its warm-up."""

CATALOGUE = {
    method.name: method
    for method in (
        Method("source-only", (_SOURCE,), summary="Training on the source, nothing else.", tables="Sentiment"),
        Method(
            "self-training",
            (_SOURCE, term("self-training")),
            summary="Equation 2: the source model labels the target once, then both train the model.",
            reference="Lee: Pseudo-Label, ICML workshops 2013",
            tables="Figure 2",
        ),
        Method(
            "dan",
            (_SOURCE, term("dan")),
            summary="Maximum mean discrepancy of the features, several kernels.",
            reference="Long et al.: Learning Transferable Features with Deep Adaptation Networks, ICML 2015",
            tables="cited in Section 2",
        ),
        Method(
            "jan",
            (_SOURCE, term("jan")),
            summary="Joint maximum mean discrepancy of features and predictions.",
            reference="Long et al.: Deep Transfer Learning with Joint Adaptation Networks, ICML 2017",
            tables="cited in Section 1",
        ),
        Method(
            "dann",
            (_SOURCE, term("dann")),
            summary="Features that a domain discriminator cannot tell apart.",
            reference="Ganin et al.: Domain-Adversarial Training of Neural Networks, JMLR 2016",
            tables="Office-Home, Sentiment, VisDA, DomainNet",
        ),
        Method(
            "cdan",
            (_SOURCE, term("cdan")),
            summary="DANN conditioned on the predictions.",
            reference="Long et al.: Conditional Adversarial Domain Adaptation, NeurIPS 2018",
            tables="Office-Home, VisDA, Digits",
        ),
        Method(
            "cdan+e",
            (_SOURCE, term("cdan", entropy=True)),
            summary="CDAN that gives certain samples more weight.",
            reference="Long et al.: Conditional Adversarial Domain Adaptation, NeurIPS 2018",
        ),
        Method(
            "mcd",
            (_SOURCE, term("mcd")),
            update=Part("alternating"),
            defaults=_HIDDEN,
            summary="Two heads with a hidden layer maximise, the backbone minimises their discrepancy.",
            reference="Saito et al.: Maximum Classifier Discrepancy, CVPR 2018",
            tables="VisDA",
        ),
        Method(
            "mdd",
            (_SOURCE, term("mdd")),
            summary="Margin disparity discrepancy with an adversarial head.",
            reference="Zhang et al.: Bridging Theory and Algorithm for Domain Adaptation, ICML 2019",
            tables="Office-Home, Sentiment, VisDA, DomainNet",
        ),
        Method(
            "mdd+ia",
            (_SOURCE, term("mdd", margin=2.0, present=True)),
            sampling=Part("ia"),
            summary="MDD with class-aligned batches and losses masked to their classes.",
            reference="Jiang et al.: Implicit Class-Conditioned Domain Alignment, ICML 2020",
            tables="Office-Home, VisDA",
        ),
        Method(
            "vat",
            (_SOURCE, term("vat")),
            summary="Predictions that do not change in the worst direction.",
            reference="Miyato et al.: Virtual Adversarial Training, TPAMI 2018",
            tables="Sentiment, VisDA",
        ),
        Method(
            "vat+entropy",
            (_SOURCE, term("vat"), term("entropy")),
            summary="VAT and entropy minimisation.",
            reference="Miyato et al.: Virtual Adversarial Training, TPAMI 2018",
            tables="Sentiment",
        ),
        Method(
            "mixmatch",
            (_SOURCE, term("mixmatch")),
            summary="Sharpened averages over views, mixed with the labelled samples.",
            reference="Berthelot et al.: MixMatch, NeurIPS 2019",
            tables="VisDA",
        ),
        Method(
            "fixmatch",
            (_SOURCE, term("fixmatch")),
            summary="Confident labels of the weak view teach the strong view.",
            reference="Sohn et al.: FixMatch, NeurIPS 2020",
            tables="Office-Home, VisDA, Ablation",
        ),
        Method(
            "fixmatch+tsallis",
            (_SOURCE, term("fixmatch"), term("tsallis")),
            summary="FixMatch with the Tsallis entropy of CST.",
            reference=_PAPER,
            tables="Ablation",
        ),
        Method(
            "cbst",
            (_SOURCE, term("cbst")),
            summary="Class-balanced self-training in rounds of growing portion.",
            reference="Zou et al.: Class-Balanced Self-Training, ECCV 2018",
            tables="VisDA",
        ),
        Method(
            "kld",
            (_SOURCE, term("kld")),
            summary="CBST with the KLD model regulariser (CRST).",
            reference="Zou et al.: Confidence Regularized Self-Training, ICCV 2019",
            tables="VisDA",
        ),
        Method(
            "dirt-t",
            (
                _SOURCE,
                term("dann", 0.1),
                term("vat", 0.1),
                term("source-vat", 0.1),
                term("entropy", 0.1),
                term("refine", 0.1),
            ),
            summary="VADA (DANN, VAT, conditional entropy), then refinement held back by a teacher.",
            reference="Shu et al.: A DIRT-T Approach to Unsupervised Domain Adaptation, ICLR 2018",
            tables="VisDA",
        ),
        Method(
            "cdan+vat+entropy",
            (_SOURCE, term("cdan"), term("vat"), term("entropy")),
            summary="Feature adaptation and self-training together.",
            reference=_PAPER,
            tables="Office-Home, VisDA",
        ),
        Method(
            "mdd+fixmatch",
            (_SOURCE, term("mdd"), term("fixmatch")),
            summary="Feature adaptation and self-training together.",
            reference=_PAPER,
            tables="VisDA",
        ),
        Method(
            "afn",
            (_SOURCE, term("afn", 0.05)),
            summary="Feature norms that grow step by step.",
            reference="Xu et al.: Larger Norm More Transferable, ICCV 2019",
            tables="VisDA",
        ),
        Method(
            "star",
            (_SOURCE, term("star")),
            update=Part("alternating"),
            defaults=_HIDDEN,
            summary="MCD with the last layers of its heads drawn from a distribution.",
            reference="Lu et al.: Stochastic Classifiers for Unsupervised Domain Adaptation, CVPR 2020",
            tables="VisDA",
        ),
        Method(
            "sentry",
            (_SOURCE, term("sentry")),
            sampling=Part("balanced"),
            defaults={"head": "prototype"},
            summary="A committee of views decides whether entropy goes down or up.",
            reference="Prabhu et al.: SENTRY, ICCV 2021",
            tables="Office-Home, VisDA",
        ),
        Method(
            "coal",
            (_SOURCE, term("coal")),
            sampling=Part("balanced"),
            defaults={"head": "prototype"},
            summary="Prototypes moved by minimax entropy, class-balanced self-training.",
            reference="Tan, Peng, Saenko: Class-Imbalanced Domain Adaptation, ECCV workshops 2020",
            tables="DomainNet",
        ),
        Method(
            "rwot",
            (_SOURCE, term("rwot")),
            summary="Optimal transport weighted by the reliability of target labels.",
            reference="Xu et al.: Reliable Weighted Optimal Transport, CVPR 2020",
            tables="Digits",
        ),
        Method(
            "mcc",
            (_SOURCE, term("mcc")),
            summary="Minimum class confusion.",
            reference="Jin et al.: Minimum Class Confusion for Versatile Domain Adaptation, ECCV 2020",
        ),
        Method(
            "mean-teacher",
            (_SOURCE, term("mean-teacher", 3.0)),
            summary="Self-ensembling: the student follows a moving average of itself.",
            reference="French et al.: Self-Ensembling for Visual Domain Adaptation, ICLR 2018",
            tables="cited in Section 1",
        ),
        Method(
            "cst",
            _CST,
            defaults=_GUARD,
            summary="Cycle Self-Training: alpha selected each epoch, no threshold, after a warm start on the source.",
            reference=_PAPER,
            tables="Office-Home, Sentiment, VisDA, Ablation, Digits, DomainNet",
        ),
        Method(
            "cst+sam",
            _CST,
            update=Part("sam"),
            defaults=_GUARD,
            summary="CST with sharpness-aware minimisation.",
            reference=f"{_PAPER}; Foret et al.: Sharpness-Aware Minimization, ICLR 2021",
            tables="VisDA",
        ),
        Method(
            "cycle",
            (_SOURCE, term("cycle")),
            defaults=_GUARD,
            summary="CST without Tsallis entropy.",
            reference=_PAPER,
            tables="Ablation",
        ),
        Method(
            "cst+entropy",
            (_SOURCE, term("cycle"), term("tsallis", alpha=1.0)),
            defaults=_GUARD,
            summary="CST with the Gibbs entropy in place of Tsallis.",
            reference=_PAPER,
            tables="Ablation",
        ),
        Method(
            "cst-literal",
            (
                _SOURCE,
                term("cycle", l2=1e-3, normalize=False, centred=False),
                term("tsallis", balanced=False, temperature=1.0, stride=1.0),
            ),
            defaults={"batch_norm": "per-domain", "warmup_epochs": 0, "schedule": "step"},
            summary="The paper's formulas to the letter, all terms from the first step; collapses with many classes.",
            reference=_PAPER,
        ),
        Method(
            "cst-official",
            (
                _SOURCE,
                term("cycle", 2.0, l2=1e-3, normalize=True, centred=True),
                term("confusion", alpha=1.9, temperature=2.5),
                term("fixmatch", 0.5, threshold=0.97, track=True),
            ),
            update=Part("sam", options={"adaptive": True, "rho": 0.5, "track": True}),
            defaults={"bottleneck": 256, "schedule": "inverse", "batch_norm": "joint", "warmup_epochs": 0},
            summary="What the authors' published code runs; not what the paper describes.",
            reference=_PAPER + " (the published code)",
        ),
    )
}
