"""Curves as pictures: text for a terminal, PNG or SVG for paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import UsageError
from .curve import Curve, Estimate, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS: Final = 17  # one row per sixteenth, so that quarters fall on rows
LEFT: Final = 6  # columns for the labels of the probability axis
PICTURES: Final = (".png", ".svg", ".pdf")

# Okabe & Ito's palette: told apart by the colour-blind; markers and dashes tell the rest in print.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
DASHES: Final = ("-", "--", "-.", ":")

MOST_BANDS: Final = 2  # more than two bands on one terminal plot hide each other


@dataclass(frozen=True)
class Series:
    """One line of a plot: ``points[k - 1]`` belongs to k.

    A plot ends at the last k that nearly all tasks have trials for: beyond, the mean is of ever
    fewer tasks, and the line may rise where the chance cannot. The table shows those k, with n.
    """

    label: str
    points: list[Estimate]

    def known(self) -> list[tuple[int, Estimate]]:
        """The points that have a value, with their k."""
        return [(k, p) for k, p in enumerate(self.points, start=1) if p.value is not None]


@dataclass(frozen=True)
class Ink:
    """The characters a terminal plot is drawn with."""

    markers: str
    line: str
    band: str
    wall: str
    floor: str
    times: str


UNICODE: Final = Ink(markers="●○■□▲△◆◇", line="·", band="░", wall="┤", floor="─", times="×")
ASCII: Final = Ink(markers="o*x+#@%&", line="-", band=".", wall="|", floor="-", times="x")


def size_of(curve: Curve) -> str:
    """What stands behind a curve, e.g. "50 tasks × 4 trials"; trials are those scored."""
    scored = sorted({t.scored for t in curve.per_task}) or [0]
    trials = f"{scored[0]}" if len(scored) == 1 else f"{scored[0]}-{scored[-1]}"
    tasks = len(curve.per_task)
    return f"{count(tasks, 'task')} × {trials} {'trial' if scored[-1] == 1 else 'trials'}"


def terminal_plot(curves: list[Curve], width: int = 80, *, plain: bool = False) -> str:
    """Draw curves with characters.

    One curve shows pass^k and pass@k with their intervals; several show the pass^k of each, with
    intervals as long as there are at most two.

    Args:
        curves: At least one.
        width: Columns to fill, 40 or more make sense.
        plain: Draw with ASCII only.

    Returns:
        Lines joined by newlines, without one at the end.
    """
    ink = ASCII if plain else UNICODE
    series = _series(curves)
    last = max(len(s.points) for s in series)
    if not any(s.known() for s in series):
        return "nothing scored, nothing to plot"
    columns = max(width - LEFT - 2, last if last < 10 else 10)
    grid = [[" "] * columns for _ in range(ROWS)]
    if len(series) <= MOST_BANDS:
        for one in series:
            _draw_band(grid, one, last, ink)
    for one in series:
        _draw_line(grid, one, last, ink)
    for one, marker in reversed(list(zip(series, _cycle(ink.markers, len(series)), strict=True))):
        for k, point in one.known():
            grid[_row(point.value or 0.0)][_column(k, last, columns)] = marker
    lines = [f"{_axis_label(row)} {ink.wall}{''.join(cells)}" for row, cells in enumerate(grid)]
    lines += [" " * (LEFT - 1) + ink.floor * (columns + 1), _k_labels(last, columns)]
    lines += [" " * LEFT + _caption(curve) for curve in curves if len(curves) == 1]
    lines += [
        f"{' ' * LEFT}{marker} {one.label}"
        for one, marker in zip(series, _cycle(ink.markers, len(series)), strict=True)
    ]
    text = "\n".join(line.rstrip() for line in lines)
    return text.replace("×", ink.times).encode("ascii", "replace").decode() if plain else text


def _series(curves: list[Curve]) -> list[Series]:
    if len(curves) > 1:
        return [
            Series(f"pass^k  {_caption(curve)}", _plotted(curve, curve.pass_hat))
            for curve in curves
        ]
    curve = curves[0]
    return [
        Series("pass^k  all of k trials pass", _plotted(curve, curve.pass_hat)),
        Series("pass@k  at least one of k trials passes", _plotted(curve, curve.pass_at)),
    ]


def _plotted(curve: Curve, points: list[Estimate]) -> list[Estimate]:
    return points[: curve.headline_k]


def _caption(curve: Curve) -> str:
    note = f", {curve.note}" if curve.note else ""
    return f"{curve.name} ({size_of(curve)}{note})"


def _cycle(marks: str, length: int) -> str:
    return (marks * (length // len(marks) + 1))[:length]


def _row(value: float) -> int:
    return round((1 - value) * (ROWS - 1))


def _column(k: int, last: int, columns: int) -> int:
    """Where k stands; the first and the last a little inside the frame."""
    margin = min(3, columns // 10)
    inner = columns - 1 - 2 * margin
    return columns // 2 if last == 1 else margin + round((k - 1) / (last - 1) * inner)


def _between(known: list[tuple[int, float]], last: int, columns: int) -> list[tuple[int, float]]:
    """Values at every column from the first known k to the last, straight lines between them."""
    at = [_column(k, last, columns) for k, _ in known]
    across = range(at[0], at[-1] + 1)
    heights = np.interp(list(across), at, [value for _, value in known])
    return list(zip(across, heights.tolist(), strict=True))


def _draw_band(grid: list[list[str]], series: Series, last: int, ink: Ink) -> None:
    lows = [(k, p.low) for k, p in series.known() if p.low is not None]
    highs = [(k, p.high) for k, p in series.known() if p.high is not None]
    if not lows or not highs:
        return
    columns = len(grid[0])
    for (x, low), (_, high) in zip(
        _between(lows, last, columns), _between(highs, last, columns), strict=True
    ):
        for row in range(_row(high), _row(low) + 1):
            grid[row][x] = ink.band


def _draw_line(grid: list[list[str]], series: Series, last: int, ink: Ink) -> None:
    values = [(k, p.value) for k, p in series.known() if p.value is not None]
    if values:
        for x, value in _between(values, last, len(grid[0])):
            grid[_row(value)][x] = ink.line


def _axis_label(row: int) -> str:
    quarter = (ROWS - 1) // 4
    return f"{1 - row / (ROWS - 1):>4.2f}" if row % quarter == 0 else " " * 4


def _k_labels(last: int, columns: int) -> str:
    """The numbers under the plot, as many as fit, the last k always."""
    line = [" "] * (columns + len(str(last)))
    free_until = len(line)
    for k in range(last, 0, -1):
        at, word = _column(k, last, columns), str(k)
        if at + len(word) < free_until:
            line[at : at + len(word)] = word
            free_until = at
    return " " * (LEFT - 2) + "k " + "".join(line)


def save_plot(curves: list[Curve], path: Path) -> None:
    """Save curves as a picture; the suffix says which kind.

    One curve shows pass^k and pass@k on one pair of axes; several show each on its own.

    Args:
        curves: At least one.
        path: Where to; ".png", ".svg" or ".pdf".

    Raises:
        UsageError: matplotlib is missing, the suffix is another one, or the file cannot be
            written.
    """
    if path.suffix.lower() not in PICTURES:
        raise UsageError(f"cannot plot to {str(path)!r}: the name must end in .png, .svg or .pdf")
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError(
            "plots need matplotlib: pip install 'passhat[plot]' (the terminal plot does not)"
        ) from error
    stable = {"CreationDate" if path.suffix.lower() == ".pdf" else "Date": None}
    metadata = {} if path.suffix.lower() == ".png" else stable
    with mpl.rc_context({"svg.hashsalt": "passhat"}):  # equal curves give equal files
        try:
            _figure(curves).savefig(path, dpi=160, metadata=metadata)
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _figure(curves: list[Curve]) -> Figure:
    from matplotlib.figure import Figure

    alone = len(curves) == 1
    figure = Figure(figsize=(7.2, 4.8) if alone else (11, 4.8 + 0.25 * len(curves)))
    figure.set_layout_engine("constrained")
    if alone:
        axes = figure.subplots()
        _draw(axes, _plotted(curves[0], curves[0].pass_hat), "pass^k: all k trials pass", 0)
        _draw(
            axes,
            _plotted(curves[0], curves[0].pass_at),
            "pass@k: at least one of k trials passes",
            1,
        )
        _dress(axes, "probability")
    else:
        left, right = figure.subplots(1, 2, sharey=True)
        for number, curve in enumerate(curves):
            _draw(left, _plotted(curve, curve.pass_hat), _caption(curve), number)
            _draw(right, _plotted(curve, curve.pass_at), _caption(curve), number)
        _dress(left, "probability", "pass^k: all k trials pass")
        _dress(right, "", "pass@k: at least one of k trials passes")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title=_literal(_caption(curves[0])) if alone else None,
        loc="outside lower center",
        ncols=2 if alone else 1,
        handlelength=3,
        frameon=False,
    )
    figure.suptitle(_literal(_title(curves)), fontsize=11)
    return figure


def _title(curves: list[Curve]) -> str:
    if len(curves) == 1:
        heading = f"{curves[0].name} ({curves[0].note})" if curves[0].note else curves[0].name
    else:
        notes = [f"{curve.name}: {curve.note}" for curve in curves if curve.note]
        heading = "\n".join(["Reliability over repeated trials", *notes])
    planned, scored, lost = (
        sum(getattr(curve, what) for curve in curves) for what in ("planned", "scored", "lost")
    )
    refused = [curve.name for curve in curves if curve.too_much_lost]
    lines = [
        heading,
        f"{count(planned, 'trial')} planned, {scored} scored, {lost} lost; "
        f"bands: {curves[0].confidence:.0%} intervals over tasks",
    ]
    if refused:
        lines.append(f"too many trials lost to be quoted: {', '.join(refused)}")
    return "\n".join(lines)


def _draw(axes: Axes, points: list[Estimate], label: str, number: int) -> None:
    series = Series(label, points)
    style: dict[str, Any] = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)] if len(points) <= 30 else None,
    }
    known = series.known()
    axes.plot(
        [k for k, _ in known],
        [p.value if p.value is not None else np.nan for _, p in known],
        label=_literal(label),
        linewidth=1.8,
        markersize=5,
        **style,
    )
    banded = [(k, p.low, p.high) for k, p in known if p.low is not None and p.high is not None]
    if len(banded) == 1:  # a band of one point has no area
        k, low, high = banded[0]
        axes.vlines(k, low, high, color=style["color"], alpha=0.5, linewidth=3)
    elif banded:
        ks, lows, highs = zip(*banded, strict=True)
        axes.fill_between(ks, lows, highs, color=style["color"], alpha=0.16, linewidth=0)


def _dress(axes: Axes, y_label: str, title: str = "") -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("k, trials of the same task")
    axes.set_ylabel(y_label)
    axes.set_ylim(-0.02, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(axis="y", alpha=0.3, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        axes.set_title(title, fontsize=10)


def _literal(text: str) -> str:
    """Names are shown as they are: a dollar sign would start a formula."""
    return text.replace("$", r"\$")
