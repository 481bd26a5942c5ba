"""Curves over the epochs: of the demo, beside its two domains, and of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cst.files import write_aside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = list[dict[str, Any]]
COLOURS = {"source-only": "#8c8c8c", "self-training": "#d1822b", "cst": "#1f6fb4"}
OTHERS = ("#7a4fa3", "#2a9d5c", "#c0392b", "#17a2a2", "#b8860b", "#e377c2", "#5a3d2b", "#9acd32")
"""For methods that have no colour of their own, in their order."""


def demo_figure(histories: dict[tuple[str, int], History], path: Path) -> None:
    """Draw the histories of (method, seed) and write them to ``path``."""
    figure = _sheet(11, 6.2)
    panels = figure.subplot_mosaic([["digits", "accuracy", "alpha"], ["digits", "variation", "trip"]])
    _draw_digits(panels["digits"])
    for method in dict.fromkeys(name for name, _ in histories):
        runs = [history for (name, _), history in histories.items() if name == method]
        _draw_curve(panels["accuracy"], method, runs, lambda r: 100 * r["oracle"]["accuracy"])
        _draw_curve(panels["variation"], method, runs, lambda r: r["oracle"]["total_variation"])
        _draw_curve(panels["trip"], method, runs, lambda r: 100 * r["batch_target_head_error"])
        if all("alpha" in record for history in runs for record in history):
            _draw_curve(panels["alpha"], method, runs, lambda r: r["alpha"])
    _label(panels["accuracy"], "Target accuracy, % (oracle)")
    panels["accuracy"].legend(frameon=False, loc="center right")
    _label(panels["variation"], "Total variation of pseudo-labels (oracle)")
    _label(panels["trip"], "Target head's error on source batches, %")
    panels["trip"].set_yscale("symlog", linthresh=1)
    _label(panels["alpha"], "Selected alpha")
    panels["alpha"].set_ylim(0.95, 2.05)
    write_aside(path, lambda aside: figure.savefig(aside, dpi=130, format="png"))


def suite_figure(histories: dict[str, dict[str, list[History]]], path: Path, most_columns: int = 4) -> None:
    """Draw histories by task and method: a panel of accuracies for each task, one of the alphas that were selected."""
    chosen = {
        f"{method} {task}".rstrip(): runs
        for task, methods in histories.items()
        for method, runs in methods.items()
        if all("alpha" in record for history in runs for record in history)
    }
    count = len(histories) + bool(chosen)
    columns = min(count, most_columns)
    rows = -(-count // columns)
    figure = _sheet(4.2 * columns, 3.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel in panels:
        panel.set_prop_cycle(color=OTHERS)
    for panel, (task, methods) in zip(panels, histories.items(), strict=False):
        for method, runs in methods.items():
            _draw_curve(panel, method, runs, lambda r: 100 * r["oracle"]["accuracy"])
        _label(panel, f"{task} target accuracy, % (oracle)".lstrip())
        panel.legend(frameon=False, fontsize=8)
    if chosen:
        for name, runs in chosen.items():
            _draw_curve(panels[count - 1], name, runs, lambda r: r["alpha"])
        _label(panels[count - 1], "Selected alpha")
        panels[count - 1].set_ylim(0.95, 2.05)
        panels[count - 1].legend(frameon=False, fontsize=8)
    for panel in panels[count:]:
        panel.axis("off")
    write_aside(path, lambda aside: figure.savefig(aside, dpi=130, format="png"))


def _sheet(width: float, height: float) -> Figure:
    """A figure that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _draw_curve(panel: Axes, method: str, runs: list[History], value: Any) -> None:
    """Mean over seeds, with the range behind it."""
    values = np.array([[value(record) for record in history] for history in runs])
    epochs = np.arange(1, values.shape[1] + 1)
    (line,) = panel.plot(epochs, values.mean(0), color=COLOURS.get(method), label=method, linewidth=1.8)
    if len(runs) > 1:
        panel.fill_between(epochs, values.min(0), values.max(0), color=line.get_color(), alpha=0.15, linewidth=0)


def _label(panel: Axes, title: str) -> None:
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_xlabel("epoch", fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8)
    panel.locator_params(axis="x", integer=True)


def _draw_digits(panel: Axes, columns: int = 4) -> None:
    """A few digits of each class: source on the left, target on the right."""
    from cst.tasks.synthetic_digits import handwritten_digits, rendered_digits

    halves = []
    for images, labels in (rendered_digits(), handwritten_digits()):
        rows = [np.concatenate([_framed(x[0]) for x in images[labels == c][:columns]], 1) for c in range(10)]
        halves.append(np.concatenate(rows, 0))
    gap = np.zeros((len(halves[0]), 6))
    panel.imshow(np.concatenate([halves[0], gap, halves[1]], 1), cmap="gray_r", vmin=0, vmax=1)
    panel.set_title("Source: rendered   |   Target: handwritten", fontsize=10, loc="left")
    panel.axis("off")


def _framed(image: Any) -> Any:
    return np.pad(image, 1)
