"""The frontier: what each window costs, and where its attacks come to nothing."""

from simulations.choose.search import Point
from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, DANGER, TRUE, axes


def frontier(run: Run, points: list[Point], most: float) -> None:
    """Success of the worst attack over guessing, against the error, window by window."""
    with axes(height=4.0, width=8.0) as (figure, (panel,)):
        for number, point in enumerate(points):
            first = sorted(point.trials, key=lambda trial: trial.candidate.noise)
            error = [trial.candidate.error for trial in first]
            worst = [trial.worst for trial in first]
            times = [100 * verdict.success.value for verdict in worst]
            low = [100 * verdict.success.low for verdict in worst]
            high = [100 * verdict.success.high for verdict in worst]
            colour = CYCLE[number % len(CYCLE)]
            style = "-" if len(point.queries) == 1 else "--"
            label = f"{point.window}, {' and '.join(point.queries)}"
            panel.plot(error, times, style, color=colour, marker="o", markersize=3, label=label)
            panel.fill_between(error, low, high, color=colour, alpha=0.12, linewidth=0)
            if point.best:
                best = point.best
                panel.plot(
                    best.candidate.error,
                    100 * best.worst.success.value,
                    marker="*",
                    markersize=11,
                    color=colour,
                )
        panel.axvline(most, color=DANGER, linestyle=":", label=f"allowed: {most:g} W")
        panel.axhline(
            100 * min(v.chance for p in points for t in p.trials for v in t.verdicts),
            color=TRUE,
            linestyle="--",
            label="guessing (the hardest contest)",
        )
        panel.set_xscale("log")
        panel.set_xlabel("typical error of one release (W)")
        panel.set_ylabel("worst attack's success (%)")
        panel.set_title(f"What it costs to hide {run.results['hides']}")
        panel.legend(fontsize=7, ncols=2)
        run.picture(
            figure,
            "frontier",
            f"What it costs to hide {run.results['hides']}",
            "Each line is a length of window: further right is more noise, further down is more "
            "privacy. Stars mark the least noise at which every attack is within its 95 % "
            "confidence interval of guessing, confirmed with fresh noise. Bands: 95 % confidence.",
        )
