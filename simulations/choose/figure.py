"""The frontier: what each window costs, and where its attacks come to nothing."""

from simulations.choose.search import Point
from simulations.kit.command import Run
from simulations.kit.plot import CYCLE, DANGER, TRUE, axes
from simulations.kit.yardstick import Verdict


def frontier(run: Run, points: list[Point], most: float) -> None:
    """Success of the worst attack over guessing, against the error, window by window."""
    with axes(height=4.0, width=8.0) as (figure, (panel,)):
        for number, point in enumerate(points):
            once = {trial.candidate.noise: trial for trial in reversed(point.trials)}
            some = [once[noise] for noise in sorted(once)]
            error = [trial.candidate.error for trial in some]
            times, low, high = zip(*(_times(trial.worst) for trial in some), strict=True)
            colour = CYCLE[number % len(CYCLE)]
            style = "-" if len(point.queries) == 1 else "--"
            label = f"{point.window}, {' and '.join(point.queries)}"
            panel.plot(error, times, style, color=colour, marker="o", markersize=3, label=label)
            panel.fill_between(error, low, high, color=colour, alpha=0.12, linewidth=0)
            if point.best:
                best = point.best
                panel.plot(
                    best.candidate.error,
                    _times(best.worst)[0],
                    marker="*",
                    markersize=12,
                    markeredgecolor="white",
                    color=colour,
                )
        panel.axvline(most, color=DANGER, linestyle=":", label=f"allowed: {most:g} W")
        panel.axhline(1, color=TRUE, linestyle="--", label="guessing")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xlabel("typical error of one release (W)")
        panel.set_ylabel("worst attack's success,\ntimes that of guessing")
        panel.set_title(f"What it costs to hide {run.results['hides']}")
        panel.legend(fontsize=7, ncols=2)
        run.picture(
            figure,
            "frontier",
            f"What it costs to hide {run.results['hides']}",
            "Success of the worst attack, in multiples of guessing. Each line is a length of "
            "window: further right is more noise, further down is more privacy. Stars mark the "
            "least noise at which every attack is within its 95 % confidence interval of "
            "guessing, confirmed with fresh noise. Bands: 95 % confidence.",
        )


def _times(verdict: Verdict) -> tuple[float, float, float]:
    """Success and its interval, in multiples of guessing; on a logarithmic scale, never zero."""
    success = verdict.success
    value, low, high = (
        max(share / verdict.chance, 0.1) for share in (success.value, success.low, success.high)
    )
    return value, low, high
