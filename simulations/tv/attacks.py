"""Attackers who match shapes: correlation, as in the literature, and elastic matching.

Every attack answers with `scores[observed, candidate]`: the higher, the likelier. Each of the
observed series has the true candidate's number; `ranks` says how well that was found.
"""

import numpy as np
from numpy.typing import NDArray

from simulations.kit.statistics import Share

Series = NDArray[np.float64]
"""series[content, time]"""
Scores = NDArray[np.float64]
"""scores[observed, candidate]"""

_FLAT = 1e-9
"""A series of less than this standard deviation has no shape."""
_SAME = 1e-9


def normalised(series: Series) -> Series:
    """Mean 0 and length 1; a flat series becomes zeros."""
    centred = series - series.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    flat = length < _FLAT * np.sqrt(series.shape[1])
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, length))


def correlation(observed: Series, references: Series) -> Scores:
    """Pearson's: blind to the level and the scale, so it needs to know neither."""
    scores: Scores = normalised(observed) @ normalised(references).T
    return scores


def changes(observed: Series, references: Series, largest: float = 60.0) -> Scores:
    """Correlation of how the power moves: what a set cannot do in one slot is somebody else.

    So a kettle that is switched on amid a film counts as one slot, and not as the whole rest.
    """
    moves = np.clip(np.diff(observed, axis=1), -largest, largest)
    return correlation(moves, np.diff(references, axis=1))


def elastic(observed: Series, references: Series, band: int = 4) -> Scores:
    """Dynamic time warping of the shapes: for clocks that differ by up to `band` slots.

    The distance of the best alignment, negated, over all pairs at once: a row of the table
    holds the cells `time - band .. time + band`.
    """
    shape = np.sqrt(observed.shape[1])
    seen, known = normalised(observed) * shape, normalised(references) * shape
    length, width = seen.shape[1], 2 * band + 1
    padded = np.pad(known, ((0, 0), (band, band)), constant_values=np.inf)
    row = np.full((width, len(seen), len(known)), np.inf)
    for time in range(length):
        before, row = row, np.full_like(row, np.inf)
        for cell in range(width):
            step = np.abs(seen[:, time, np.newaxis] - padded[:, time + cell])
            best = before[cell] if time else np.zeros_like(step)
            if time and cell + 1 < width:
                best = np.minimum(best, before[cell + 1])
            if cell:
                best = np.minimum(best, row[cell - 1])
            row[cell] = step + best
    scores: Scores = -row.min(axis=0)
    return scores


def ranks(scores: Scores, truth: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.int64]:
    """How many candidates each true one is beaten by; among equals the attacker tosses coins."""
    own = scores[np.arange(len(truth)), truth][:, np.newaxis]
    tolerance = _SAME * (1 + np.abs(own))
    better = (scores > own + tolerance).sum(axis=1)
    equal = (np.abs(scores - own) <= tolerance).sum(axis=1)
    beaten: NDArray[np.int64] = better + draw.integers(0, equal)
    return beaten


def among(beaten: NDArray[np.int64], first: int) -> Share:
    """How often the true one was among the attacker's first guesses."""
    return Share(int((beaten < first).sum()), len(beaten))
