"""Figure 4: the hard case for d = 3, seen through the good feature and through the spurious one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from cst.files import write_aside
from cst.theory.hard_case.distributions import SOURCE, TARGET, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {1: "#2a9d4a", 0: "#d43d3d", -1: "#2f6fd0"}
POINTS = 400


def hard_case_figure(path: Path, seed: int = 0) -> None:
    """Draw a sample of both domains over ``(x_1, x_2)`` and ``(x_1, x_3)`` and write it to ``path``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    generator = torch.Generator().manual_seed(seed)
    figure = Figure(figsize=(12, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 4)
    source, target = (domain.sample((POINTS,), 3, generator) for domain in (SOURCE, TARGET))
    views = [
        ("a", "source", source, 2),
        ("b", "source", source, 3),
        ("c", "target", target, 2),
        ("d", "target", target, 3),
    ]
    for panel, (letter, name, points, coordinate) in zip(panels, views, strict=True):
        kind = "good" if coordinate == 2 else "spurious"
        panel.set_title(f"({letter}) {name}, {kind} feature", fontsize=10, loc="left")
        _draw(panel, points, coordinate, generator)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    write_aside(path, lambda aside: figure.savefig(aside, dpi=130, format="png"))


def _draw(panel: Axes, points: Tensor, coordinate: int, generator: torch.Generator) -> None:
    """The points, moved a little so that equal ones show, and the curves where the feature is 1/2 and -1/2."""
    axis = torch.linspace(-1.6, 1.6, 200, dtype=torch.float64)
    feature = axis.square().unsqueeze(0) - axis.square().unsqueeze(1)
    panel.contour(axis.numpy(), axis.numpy(), feature.numpy(), levels=[-0.5, 0.5], colors="#8c8c8c", linestyles="solid")
    panel.plot([], [], color="#8c8c8c", label="boundary")
    jitter = 0.06 * torch.randn(len(points), 2, generator=generator, dtype=torch.float64)
    places = points[:, [0, coordinate - 1]] + jitter
    truth = labels(points)
    for label, colour in COLOURS.items():
        dots = places[truth == label]
        panel.scatter(
            dots[:, 0].numpy(), dots[:, 1].numpy(), s=9, color=colour, alpha=0.7, linewidths=0, label=f"y = {label}"
        )
    panel.set_xlabel("$x_1$", fontsize=9)
    panel.set_ylabel(f"$x_{coordinate}$", fontsize=9)
    panel.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal")
    panel.tick_params(labelsize=8)
