"""Dashboards as they are drawn: at a desk and on a phone, by day and by night, nothing cut."""

from __future__ import annotations

from io import BytesIO
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from deploy.grafana import draw, health, sheets
from deploy.grafana.dashboards import ALL
from deploy.grafana.layout import WIDTH, Dashboard, Row
from deploy.grafana.look import DARK, DESK, LIGHT, PHONE, Screen
from deploy.grafana.source import Found, Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = (
    "policy",
    "query",
    "unit",
    "job",
    "partition",
    "instance",
    "le",
    "reason",
    "where",
    "kind",
)
BEGIN, END = 1_763_424_000.0, 1_763_424_600.0


class Steady(Source):
    """Everything is one, under long names."""

    def at(self, _expression: str, _time: float | None = None) -> list[Found]:
        """One row."""
        return [Found(dict.fromkeys(LABELS, "household"), {END: 1.0})]

    def over(self, expression: str, begin: float, end: float, _step: float) -> list[Found]:
        """One series; nothing has restarted."""
        if "start_time" in expression or "rebalances" in expression:
            return []
        labels = dict.fromkeys(LABELS, "household") | {"le": "0.5"}
        return [Found(labels, {begin: 1.0, end - 1: 1.0})]


def drawn(
    dashboard: Dashboard,
    screen: Screen,
    monkeypatch: pytest.MonkeyPatch,
    source: Source | None = None,
) -> Figure:
    kept: list[Figure] = []

    def keep(figure: Figure) -> bytes:
        kept.append(figure)
        return b""

    monkeypatch.setattr(draw, "png", keep)
    draw.Picture(source or Steady(""), BEGIN, END, "1m", screen=screen).draw(dashboard)
    return kept[0]


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("dashboard", ALL, ids=lambda one: one.file)
def test_no_title_or_cell_leaves_its_panel(
    dashboard: Dashboard, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = drawn(dashboard, screen, monkeypatch)
    across = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    width = figure.bbox.width
    panels = [(t, x) for t, x, _ in screen.placed(dashboard) if not isinstance(t, Row)]
    ends = {panel.title: (x + panel.width) / screen.columns * width for panel, x in panels}
    texts = [text for text in figure.texts if text.get_text()]
    assert {*ends} <= {text.get_text() for text in texts}
    lines: dict[float, list[tuple[float, float, str]]] = {}
    for text in texts:
        box = text.get_window_extent(across)
        assert box.x1 <= ends.get(text.get_text(), width), text.get_text()
        lines.setdefault(text.get_position()[1], []).append((box.x0, box.x1, text.get_text()))
    for line in lines.values():
        for (_, right, name), (left, _, after) in pairwise(sorted(line)):
            assert right <= left, f"{name} runs into {after}"


class Crowded(Steady):
    """Twenty kinds of failures."""

    def over(self, expression: str, begin: float, end: float, step: float) -> list[Found]:
        """Twenty of these."""
        found = super().over(expression, begin, end, step)
        if "where" not in expression:
            return found
        return [
            Found(one.labels | {"where": f"place {n}"}, one.values)
            for one in found
            for n in range(20)
        ]


def test_a_legend_stays_below_its_chart_and_says_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figure = drawn(health.DASHBOARD, PHONE, monkeypatch, Crowded(""))
    legends = [legend for axes in figure.axes if (legend := axes.get_legend())]
    longest = max(legends, key=lambda legend: len(legend.get_texts()))
    assert len(longest.get_texts()) == draw.LEGEND_ROWS * PHONE.legends
    assert longest.get_texts()[-1].get_text() == "… and 15 more"


def test_on_a_phone_panels_are_below_each_other() -> None:
    for dashboard in ALL:
        placed = [*PHONE.placed(dashboard)]
        assert [t for t, _, _ in placed if isinstance(t, Row)] == [*dashboard.rows]
        assert len(placed) == len(dashboard.rows) + len(dashboard.panels())
        lines = [range(y, y + (1 if isinstance(t, Row) else t.height)) for t, _, y in placed]
        assert [*chain.from_iterable(lines)] == [*range(lines[-1].stop)]
        assert all(isinstance(t, Row) or t.width == PHONE.columns < WIDTH for t, _, _ in placed)


def test_by_night_paper_is_dark_and_ink_is_light() -> None:
    def bright(color: str) -> int:
        return sum(bytes.fromhex(color[1:]))

    for theme, darker in ((LIGHT, "ink"), (DARK, "paper")):
        lighter = {"ink": "paper", "paper": "ink"}[darker]
        assert bright(getattr(theme, lighter)) - bright(getattr(theme, darker)) > 400
    assert {*LIGHT.steps} == {*DARK.steps}
    assert {*LIGHT.marks} == {*DARK.marks}


def test_a_sheet_has_all_looks_and_cuts_off_what_goes_on() -> None:
    def page(width: int, height: int, color: str) -> bytes:
        made = BytesIO()
        Image.new("RGB", (width, height), color).save(made, "png")
        return made.getvalue()

    desks = [page(1520, 800, color) for color in ("white", "black")]
    phones = [page(280, 5000, color) for color in ("white", "black")]
    sheet = Image.open(BytesIO(sheets.sheet(desks, phones))).convert("RGB")
    assert sheet.size == (760 + 2 * (280 + 12), 2 * 400 + 12)
    corners = [(5, 5), (5, 500), (780, 805), (1070, 805)]
    assert [sheet.getpixel(at) for at in corners] == [(255,) * 3, (0,) * 3] * 2
