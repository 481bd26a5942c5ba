"""The page that goes with a published model: what it is, what was seen of it, what it is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.config.options import IN_MEMORY
from cst.engine.metrics import METRICS

if TYPE_CHECKING:
    from cst.config import Settings
    from cst.engine.adapted import Adapted

MARK = "<!-- written by cst -->"
"""By which a page of ours is known again: others are not replaced."""


def model_card(adapted: Adapted, name: str = "") -> str:
    """Markdown with the header that the hub reads."""
    settings, classes = adapted.settings, [str(label) for label in adapted.classes]
    listed = ", ".join(classes[:20]) + f" and {len(classes) - 20} more" * (len(classes) > 20)
    parts = [
        f"---\nlibrary_name: cst\npipeline_tag: {adapted.kind.pipeline}\ntags: [domain-adaptation, self-training]\n---",
        MARK,
        f"# {name or 'A classifier for another domain'}",
        f"Task: {_task(settings)}. Adapted from a labelled source to an unlabelled target with `{settings.method}` "
        f"([cst](https://arxiv.org/abs/2103.03571)): {adapted.kind.name}, backbone `{adapted.spec.backbone}`, "
        f"{len(classes)} classes ({listed}), {settings.epochs} epochs, seed {settings.seed}. No label of the target "
        "took part in training or selection.",
        '```python\nimport cst\n\nadapted = cst.Adapted.from_pretrained("THIS MODEL")\nadapted.predict(inputs)\n```',
        *_verdict(adapted),
        *_oracle(adapted.history),
        *_figures(adapted.history),
        "## Limits\n\nIt was made for one target. On other data, on data that have changed since, and on classes that "
        "the source did not have, its predictions mean nothing, however sure it is. Probabilities are calibrated "
        "without labels of the target: they are as sure as the source model was, and may be too sure or not sure "
        "enough. The verdict is a guess that was right most of the time, not a measurement: label some of your data.",
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(adapted: Adapted) -> list[str]:
    """What can be said without labels."""
    verdict = adapted.verdict
    if verdict is None:
        return []
    lines = [f"## Did adapting help? {verdict.word.capitalize()}", " ".join(verdict.sentences), verdict.reliability]
    rows = [
        f"| {sign.get('label', name)} | {_shown(sign.get('before'))} | {_shown(sign.get('after'))} |"
        for name, sign in verdict.evidence.items()
    ]
    table = ["| without labels of the target | before | after |\n| --- | ---: | ---: |\n" + "\n".join(rows)]
    return [line for line in lines if line] + (table if rows else [])


def _task(settings: Settings) -> str:
    """The name of the benchmark's task, or those of the user's files, without the folders that they lie in."""
    data = settings.data
    files = [Path(data[role]).stem for role in ("source", "target") if data[role]]
    if files:
        return " to ".join(files)
    return "data in memory" if data["task"] in IN_MEMORY else str(data["task"])


def _figures(history: list[dict[str, Any]]) -> list[str]:
    """What the first and the last epoch recorded, by the table of metrics."""
    if not history:
        return []
    first, last = ({**record, **(record.get("oracle") or {})} for record in (history[0], history[-1]))
    rows = []
    for name, metric in METRICS.items():
        values = [record.get(name) for record in (first, last)]
        if isinstance(values[1], int | float):
            cells = [metric.show(value) if isinstance(value, int | float) else "" for value in values]
            used = " (by labels of the target)" if metric.oracle else ""
            rows.append(f"| {metric.label}{', %' if metric.unit else ''}{used} | {cells[0]} | {cells[1]} |")
    head = f"| figure | epoch {history[0].get('epoch', 1)} | epoch {history[-1].get('epoch', len(history))} |"
    return ["## Figures", "\n".join([head, "| --- | ---: | ---: |", *rows])] if rows else []


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else "" if value is None else str(value)


def _oracle(history: list[dict[str, Any]]) -> list[str]:
    """Figures that used labels of the target, where there were some."""
    figures: Mapping[str, Any] = (history[-1].get("oracle") or {}) if history else {}
    if "accuracy" not in figures:
        return ["Nobody gave labels of the target, so its accuracy there is not known."]
    return [f"Accuracy on the target at the last epoch, by labels that training never saw: {figures['accuracy']:.1%}."]
