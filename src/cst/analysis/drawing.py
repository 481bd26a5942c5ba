"""One look for all figures, in light and in dark: sheets, panels, colours that colour-blind people can tell apart."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cst.extras import missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 26
"""Characters of a name that fit beside a figure."""
MOST_INSIDE = 5
"""Names of lines that fit into a panel."""
LINES = ("-", "--", "-.", ":")
"""Lines differ in their dashes too, for who sees no colours."""


@dataclass(frozen=True)
class Theme:
    """Colours of a sheet: its ground, its ink, its grid, and those of lines, after Okabe and Ito."""

    ground: str
    ink: str
    grid: str
    colours: tuple[str, ...]

    def colour(self, place: int) -> str:
        """Of the line at a place, over again after the last."""
        return self.colours[place % len(self.colours)]

    @property
    def settings(self) -> Any:
        """The same for matplotlib; a name with a dollar sign is no formula."""
        inks = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color", "axes.edgecolor")
        return {
            **dict.fromkeys(inks, self.ink),
            **dict.fromkeys(("figure.facecolor", "axes.facecolor"), self.ground),
            "savefig.facecolor": self.ground,
            "grid.color": self.grid,
            "grid.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.linewidth": 0.7,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.labelsize": 9.5,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "legend.fontsize": 8.5,
            "legend.frameon": False,
            "lines.linewidth": 1.9,
            "text.parse_math": False,
        }


LIGHT = Theme(
    *("#ffffff", "#24292f", "#e3e6ea"),
    ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#8a6d00", "#56b4e9", "#6b7280", "#000000"),
)
DARK = Theme(
    *("#171b22", "#dfe4ea", "#333a45"),
    ("#56b4e9", "#f08a3c", "#2ec4a0", "#e08fc8", "#f0d442", "#9fb3ff", "#a3adba", "#ffffff"),
)


def sheet(columns: int = 1, rows: int = 1, width: float = 0.0, height: float = 3.1) -> Figure:
    """A figure that needs no display, with room for so many panels."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib", "Drawing figures") from None

    width = width or (4.6 if columns == 1 else 3.6 * columns)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def columns_for(count: int) -> int:
    """How many panels stand in a row."""
    return 2 if count == 4 else min(count, 3)


def panels(figure: Figure, count: int, columns: int = 0, **shared: Any) -> list[Axes]:
    """So many panels in rows; what is left over in the last row stays empty."""
    columns = columns or columns_for(count)
    rows = -(-count // columns)
    axes = list(figure.subplots(rows, columns, squeeze=False, **shared).flatten())
    for spare in axes[count:]:
        spare.axis("off")
    return axes[:count]


def sheet_of(count: int, height: float = 3.0) -> Figure:
    """A sheet for so many panels in rows."""
    columns = columns_for(count)
    return sheet(columns, -(-count // columns), height=3.1 if count == 1 else height)


def png(draw: Any, theme: Theme = LIGHT, dpi: int = 144) -> bytes:
    """What ``draw(theme)`` drew, as the bytes of a picture."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise missing("matplotlib", "Drawing figures") from None

    buffer = io.BytesIO()
    with rc_context(theme.settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that the font has not
        draw(theme).savefig(buffer, dpi=dpi, format="png", metadata={"Software": None})
    return buffer.getvalue()


def short(name: str, longest: int = LONGEST) -> str:
    """A name that fits beside a figure; matplotlib leaves out legends that begin with an underscore.

    >>> short("a very long name of a class", 10)
    'a very lo…'
    """
    name = " ".join(name.split()).lstrip("_") or name
    return name if len(name) <= longest else name[: longest - 1] + "…"


def line(theme: Theme, place: int) -> dict[str, Any]:
    """Colour and dashes of the line at a place: no two of the first 32 are alike."""
    return {"color": theme.colour(place), "linestyle": LINES[(place + place // len(theme.colours)) % len(LINES)]}


def legend(panel: Axes, loc: Any = "best") -> None:
    """Names of the lines: in the panel where they are few, below it where they are many, none for a single one."""
    handles, names = panel.get_legend_handles_labels()
    if 1 < len(names) <= MOST_INSIDE:
        panel.legend(loc=loc)
    elif len(names) > MOST_INSIDE:
        panel.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.26), ncols=2, fontsize=7.5)


def over_epochs(panel: Axes) -> None:
    """The usual axis of what is recorded after every epoch."""
    panel.set_xlabel("epoch")
    panel.locator_params(axis="x", integer=True)


def from_zero(axes: Sequence[Axes], label: str) -> None:
    """Let the axes of panels that share them begin at zero, once all is drawn; the first panel says their unit."""
    for panel in axes:
        panel.set_ylim(bottom=0)
    axes[0].set_ylabel(label)


def epochs(values: Sequence[Any]) -> range:
    """1, 2, ... for what was recorded after every epoch."""
    return range(1, len(values) + 1)
