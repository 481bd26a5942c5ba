"""Both domains in the plane, before and after adaptation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cst.analysis.drawing import Theme, panels, sheet, short
from cst.analysis.plates.contract import Absent, Plate, crowd, lack, note, percent
from cst.analysis.subject import features_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "embedding", "Both domains in the plane, before and after", "beside Section 5"
MEANING = (
    "Points that lie close have similar features. After adaptation, target samples should lie on the clusters "
    "of the source; distances between clusters mean nothing."
)
MOST_POINTS = 400
"""Of each domain."""
MOST_RUNS = 4
FEW = 20
"""Points below which t-SNE has no neighbours to keep."""


def embedding(source: Any, target: Any, seed: int = 0) -> tuple[Any, Any]:
    """Features of both domains [N, d], [M, d] as points in one plane [N, 2], [M, 2], by t-SNE; by PCA if few."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    together = np.concatenate([np.asarray(source), np.asarray(target)]).astype(np.float64)
    together = (together - together.mean(0)) / max(together.std(), 1e-12)
    width = min(30, *together.shape)
    if together.shape[1] > width:
        together = PCA(width, random_state=seed).fit_transform(together)
    if together.shape[1] == 1:
        together = np.concatenate([together, np.zeros_like(together)], 1)
    if len(together) >= FEW:
        maker = TSNE(perplexity=min(30, len(together) / 5), init="pca", max_iter=500, random_state=seed)
        points = maker.fit_transform(together)
    else:
        points = PCA(2, random_state=seed).fit_transform(together)
    return points[: len(source)], points[len(source) :]


def mixing(source: Any, target: Any, neighbours: int = 10) -> float:
    """How well two domains mix: the share of the other domain among nearest neighbours, over that of the whole.

    1 where a neighbour's domain is a matter of chance, 0 where no sample lies next to one of the other domain.

    >>> points = np.arange(20.0)[:, None]
    >>> mixing(points, points + 100)
    0.0
    """
    from sklearn.neighbors import NearestNeighbors

    together = np.concatenate([np.asarray(source), np.asarray(target)])
    domains = np.repeat([0, 1], [len(source), len(target)])
    count = min(neighbours, len(together) - 1)
    places = NearestNeighbors(n_neighbors=count).fit(together).kneighbors(return_distance=False)
    other = (domains[places] != domains[:, None]).mean(1)
    chance = np.where(domains == 0, len(target), len(source)) / (len(together) - 1)
    return float((other / chance).mean())


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One row a run: before on the left, after on the right."""
    pictures = {run.name: _stages(run) for run in runs[:MOST_RUNS]}
    without = [run for run in runs[:MOST_RUNS] if "before" not in pictures[run.name]]
    what = "no snapshot of the model before adaptation was kept"
    pictures = {name: stages for name, stages in pictures.items() if stages}
    if not pictures:
        return Absent(NAME, TITLE, lack(without, f"{what}, and the data are gone"))
    words = [
        f"{name}: " + ", ".join(f"{stage} {percent(points['mixing'])}" for stage, points in stages.items())
        for name, stages in pictures.items()
    ]
    text = (
        "Features of source and target samples as points in the plane (t-SNE). How well the domains mix among "
        f"nearest neighbours, 100 % for chance: {'; '.join(words)}."
    )
    notes = crowd(TITLE, runs, MOST_RUNS) + note(TITLE, without, what)
    return Plate(NAME, TITLE, PAPER, MEANING, text, pictures, lambda theme: _draw(pictures, theme), notes)


def _stages(run: Subject) -> dict[str, Any]:
    """Points before and after, as far as they are known."""
    features = {"before": None if run.before is None else features_of(run.before.outputs), "after": run.features}
    stages = {}
    for stage, domains in features.items():
        if domains is None:
            continue
        ours, theirs = (_spread_out(block.numpy()) for block in domains)
        source, target = embedding(ours, theirs)
        points = {"source": source.round(2).tolist(), "target": target.round(2).tolist()}
        stages[stage] = {**points, "mixing": round(mixing(ours, theirs), 6)}
    return stages


def _spread_out(block: Any) -> Any:
    """At most so many rows, spread evenly."""
    return block[np.linspace(0, len(block) - 1, min(len(block), MOST_POINTS)).astype(int)]


def _draw(pictures: dict[str, Any], theme: Theme) -> Figure:
    stages = [(name, stage, points) for name, by in pictures.items() for stage, points in by.items()]
    columns = min(2, len(stages))
    figure = sheet(columns, -(-len(stages) // columns), width=4.6 if columns == 1 else 5.4, height=3.2)
    for panel, (name, stage, points) in zip(panels(figure, len(stages), columns), stages, strict=True):
        for place, (domain, marker) in enumerate((("source", "o"), ("target", "x"))):
            x, y = np.asarray(points[domain]).T
            colour = theme.colour(place)
            fill: dict[str, Any] = {"facecolors": "none", "edgecolors": colour} if marker == "o" else {"color": colour}
            panel.scatter(x, y, s=13, marker=marker, linewidths=0.9, alpha=0.75, label=domain, **fill)
        panel.set_title(f"{short(name)}, {stage}" if len(pictures) > 1 else f"{stage.capitalize()} adaptation")
        panel.set(xticks=[], yticks=[])
        panel.grid(visible=False)
        panel.spines[["left", "bottom"]].set_visible(False)
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, markerscale=1.6)
    return figure
