"""What the audit found, in one picture."""

from simulations.audit.verdict import WITHIN, WRONG, Verdict
from simulations.kit.command import Run
from simulations.kit.plot import DANGER, INK, RELEASED, TRUE, axes


def draw(run: Run, product: dict[str, Verdict], mistaken: dict[str, dict[str, Verdict]]) -> None:
    """A row for each pair of worlds; below, one for each mistake, where it shows most."""
    worst = {
        f"{build}: {name}": verdict
        for build, found in mistaken.items()
        for name, verdict in [max(found.items(), key=lambda item: item[1].share)]
    }
    rows = [*product.items(), *worst.items()]
    with axes(height=1.1 + 0.27 * len(rows)) as (figure, [panel]):
        panel.axvspan(1 - WITHIN, 1, color=RELEASED, alpha=0.13, lw=0)
        panel.axvline(1, color=INK, lw=1)
        for place, (_, verdict) in enumerate(rows):
            colour = RELEASED if verdict.kept else DANGER
            reach = [verdict.share, max(verdict.share, verdict.estimate / verdict.claimed)]
            panel.plot(reach, [place] * 2, color=colour, lw=1.2)
            panel.plot(reach[0], place, marker="o" if verdict.kept else "X", color=colour, ms=6)
        panel.axhline(len(product) - 0.5, color=TRUE, lw=0.8, ls=":")
        panel.set_yticks(range(len(rows)), [name for name, _ in rows])
        panel.set_ylim(len(rows) - 0.4, -0.6)
        panel.set_xlim(left=-0.05)
        panel.set_xlabel("loss found ÷ loss promised (1: the promise is used up)")
        panel.set_title("What an observer of the releases can prove", x=0)
        panel.grid(visible=False, axis="y")
    draws = run.results["draws"]
    run.picture(
        figure,
        "found",
        "The promise, audited from outside",
        "Pairs of traces whose readings differ by the radius were sanitized by the command line "
        f"under {run.results['keys']['product']} keys, {draws['product']:,} times each. Marks: "
        "the smallest loss that could have produced what was published (a lower bound, wrong "
        f"once in {1 / WRONG:,.0f}), as a share of the promised one; lines reach to the best "
        "estimate. Round marks: the promise is kept; in the shaded band no smaller promise could "
        "have been made. Below the dotted line, builds with a deliberate mistake: a cross means "
        "that the audit proves the promise broken.",
    )
