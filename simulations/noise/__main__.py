"""`python -m simulations.noise`: what is gained from the same noise, at the same privacy.

Answers that agree with their order, one draw for all answers of a window, and what a reader takes
off by smoothing: on recordings of real homes with `--traces DIR`, else on simulated ones. Beside
them, what no mechanism could be better than, for a few levels.
"""

from simulations.kit.command import Run, main
from simulations.noise import errors, optimum, pictures, smoothing

LEVELS = (2, 3, 5)


def simulate(run: Run) -> None:
    """All of it, printed and written."""
    run.results["table"] = errors.table()
    run.results["errors"] = errors.study(run)
    run.results["optimum"] = {
        f"{top + 1} levels, epsilon {epsilon:g}": optimum.compared(top, epsilon)
        for top in (LEVELS[:2] if run.quick else LEVELS)
        for epsilon in (0.5, 1.0)
    }
    run.results["smoothing"] = smoothing.study(run)
    pictures.errors(run, run.results["errors"])
    _print(run)


def _print(run: Run) -> None:
    print("answers  joint/own mean  90 %   bits")
    for count, told in run.results["table"].items():
        ratios = f"{told['mean_ratio']:>14} {told['error_90_ratio']:>6}"
        print(f"{count:>7} {ratios} {told['bits_joint']:>7}")
    for name, its in run.results["errors"].items():
        for words, told in its.items():
            steps = "  ".join(
                f"{noise} {told[noise]['drawn']} -> {told[noise]['in_order']} W"
                for noise in errors.KINDS
            )
            print(f"{name}, {words}: {steps}")
    for words, told in run.results["optimum"].items():
        print(f"two answers of {words}: " + ", ".join(f"{k} {v}" for k, v in told.items()))
    for name, its in run.results["smoothing"].items():
        left = ", ".join(f"{watts} W: {told['left']}" for watts, told in its.items())
        print(f"{name}, left by smoothing: {left}")


if __name__ == "__main__":
    raise SystemExit(main("noise", __doc__, simulate))
