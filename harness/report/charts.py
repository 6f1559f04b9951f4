"""Charts as SVG, made here: no script, no font, no file beside the page.

Colours are classes, so that the page's style decides them, in the dark too. What is drawn is also
said: every chart has a title and a description, and stands beside a table of the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markupsafe import Markup, escape

from ..curve import Curve, Estimate
from ..sources import printable
from ..survival import TurnSurvival

WIDTH: Final = 640
HEIGHT: Final = 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 150, 14, 42
_TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOST_LABELS: Final = 16

Points = Sequence[tuple[float, float]]


def curve_chart(curve: Curve, baseline: float | None = None) -> Markup:
    """pass^k and pass@k with their bands, up to the last k that may be quoted.

    Args:
        curve: At least one trial scored.
        baseline: What doing nothing scores, drawn as a level; None: not drawn.
    """
    last = curve.headline_k
    hat, at = curve.pass_hat[:last], curve.pass_at[:last]
    across = _Across(1, last)
    marks = [
        _band(across, at, "at"),
        _band(across, hat, "hat"),
        _line(across, _values(at), "at"),
        _line(across, _values(hat), "hat"),
        *_dots(across, _values(at), "at", round_=False),
        *_dots(across, _values(hat), "hat", round_=True),
        *_at_the_end(
            across,
            [("pass@k", "at", _values(at)), ("pass^k", "hat", _values(hat))],
            baseline,
        ),
    ]
    if baseline is not None:
        y = _y(baseline)
        marks.insert(0, _tag("line", x1=_LEFT, x2=across.end, y1=y, y2=y, class_="level"))
    note = f" {printable(curve.note)}." if curve.note else ""
    describes = (
        f"pass^k falls from {hat[0]} at k = 1 to {hat[-1]} at k = {last}; "
        f"pass@k ends at {at[-1]}. {curve.confidence:.0%} intervals over tasks.{note}"
    )
    title = "Chance that all (pass^k) and that at least one (pass@k) of k trials pass"
    return _chart("curve", title, describes, across, "k, trials of the same task", marks)


def survival_chart(survival: TurnSurvival, note: str = "") -> Markup:
    """The measured curve as steps, the fitted model as a dashed line, as far as it is firm."""
    last = len(survival.firm)
    across = _Across(0, last)
    stairs: list[tuple[float, float]] = [(0, 1.0)]
    for step in survival.firm:
        stairs += [(step.position, stairs[-1][1]), (step.position, step.survival)]
    fitted = [(float(turn), survival.fitted(turn)) for turn in range(last + 1)]
    ends: list[tuple[str, str, Points]] = [
        ("measured", "hat", stairs),
        (f"{survival.turn:.3f}^turn", "model", fitted),
    ]
    marks = [
        _line(across, fitted, "model"),
        _line(across, stairs, "hat"),
        *_at_the_end(across, ends),
    ]
    describes = (
        f"After {last} turns {stairs[-1][1]:.3f} are left; the fitted model, every turn right with "
        f"chance {survival.turn:.4f}, leaves {fitted[-1][1]:.3f}. {printable(note)}"
    )
    title = "Share of conversations in which nothing went wrong yet, by turn"
    return _chart("survival", title, describes, across, "turns of the agent", marks)


def bar(share: float) -> Markup:
    """A bar for a table cell; the number stands beside it, so it is hidden from screen readers."""
    inside = _tag("rect", x=0, y=0, width=f"{100 * share:.1f}", height=10, class_="fill")
    return _tag("svg", inside, class_="bar", viewBox="0 0 100 10", aria_hidden="true")


# --- the frame ----------------------------------------------------------------------------------


class _Across:
    """The horizontal scale, from ``first`` to ``last``."""

    end = WIDTH - _RIGHT

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = max(last, first)

    def x(self, value: float) -> float:
        span = self.last - self.first
        share = (value - self.first) / span if span else 0.5
        return round(_LEFT + 8 + share * (self.end - _LEFT - 16), 1)

    def labels(self) -> list[int]:
        span = self.last - self.first
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, span + 1) if span / s <= _MOST_LABELS)
        return [v for v in range(self.first, self.last + 1) if v % step == 0 or v == self.first]


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM), 1)


def _chart(
    name: str, title: str, describes: str, across: _Across, x_label: str, marks: Iterable[Markup]
) -> Markup:
    ids = f"{name}-title", f"{name}-desc"
    return _tag(
        "svg",
        _tag("title", title, id=ids[0]),
        _tag("desc", describes, id=ids[1]),
        *_grid(across, x_label),
        *marks,
        class_="chart",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=" ".join(ids),
    )


def _grid(across: _Across, x_label: str) -> Iterable[Markup]:
    for share in _TICKS:
        y = _y(share)
        yield _tag("line", x1=_LEFT, x2=across.end, y1=y, y2=y, class_="grid")
        yield _tag("text", f"{share:.2f}", x=_LEFT - 8, y=y + 4, class_="tick", text_anchor="end")
    for value in across.labels():
        x, y = across.x(value), HEIGHT - _BOTTOM + 18
        yield _tag("text", str(value), x=x, y=y, class_="tick", text_anchor="middle")
    middle = (_LEFT + across.end) / 2
    yield _tag("text", x_label, x=middle, y=HEIGHT - 6, class_="tick", text_anchor="middle")


# --- marks --------------------------------------------------------------------------------------


def _values(points: Sequence[Estimate]) -> list[tuple[float, float]]:
    return [(k, p.value) for k, p in enumerate(points, start=1) if p.value is not None]


def _band(across: _Across, points: Sequence[Estimate], name: str) -> Markup:
    ends = [
        (k, p.low, p.high)
        for k, p in enumerate(points, start=1)
        if p.low is not None and p.high is not None
    ]
    if not ends:
        return Markup()
    if len(ends) == 1:  # a band of one point has no area
        k, low, high = ends[0]
        x = across.x(k)
        return _tag("line", x1=x, x2=x, y1=_y(low), y2=_y(high), class_=f"whisker {name}")
    outline = [(k, high) for k, _, high in ends] + [(k, low) for k, low, _ in reversed(ends)]
    return _tag("polygon", points=_path(across, outline), class_=f"band {name}")


def _line(across: _Across, points: Points, name: str) -> Markup:
    return _tag("polyline", points=_path(across, points), class_=f"line {name}")


def _path(across: _Across, points: Points) -> str:
    return " ".join(f"{across.x(x)},{_y(y)}" for x, y in points)


def _dots(across: _Across, points: Points, name: str, *, round_: bool) -> Iterable[Markup]:
    """Round for one line, square for the other: told apart without colour."""
    if len(points) > 2 * _MOST_LABELS:
        return
    for x, y in points:
        if round_:
            yield _tag("circle", cx=across.x(x), cy=_y(y), r=4, class_=f"dot {name}")
        else:
            left, top = across.x(x) - 3.5, _y(y) - 3.5
            yield _tag("rect", x=left, y=top, width=7, height=7, class_=f"dot {name}")


def _at_the_end(
    across: _Across, lines: Iterable[tuple[str, str, Points]], baseline: float | None = None
) -> Iterable[Markup]:
    """The names of lines where they end, moved apart where they would meet."""
    wanted = [
        (_y(points[-1][1]), f"{label} {points[-1][1]:.3f}", name)
        for label, name, points in lines
        if points
    ]
    if baseline is not None:
        wanted.append((_y(baseline), f"doing nothing {baseline:.3f}", "level"))
    lowest = _y(0) + 4
    wanted.sort(key=lambda one: -one[0])
    for y, label, name in wanted:
        at = min(y + 4, lowest)
        yield _tag("text", label, x=across.end + 8, y=round(at, 1), class_=f"label {name}")
        lowest = at - 15


def _tag(name: str, *inside: object, **attributes: object) -> Markup:
    """An element; what is inside, and every attribute, is escaped unless it is markup already."""
    written = Markup().join(
        Markup(' {}="{}"').format(_attribute(key), value) for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(
        Markup(name),  # noqa: S704 - a name that this module wrote
        written,
        Markup().join(escape(part) for part in inside),
    )


def _attribute(key: str) -> Markup:
    plain = key.rstrip("_")
    return Markup(plain.replace("_", "-"))  # noqa: S704 - a name that this module wrote
