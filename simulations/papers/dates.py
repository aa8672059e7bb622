"""Registration dates: what it costs to hide any date, and what to hide a date's days.

A university publishes the average registration date of its students. Standard differential
privacy, `epsilon * d_h`, lets a student's date move anywhere within the years on record; under
`(epsilon / 5) * d_1` a date and another five days later are as hard to tell apart as any two
are in the former, and dates that lie farther apart are protected less. The Laplace mechanism's
noise is what one student can move the average by, over epsilon.

The paper shows a curve and no numbers: the number of students and of years is ours.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STUDENTS = 100
DAYS = 1826
"""Five years."""
NEAR = 5.0
"""Days that `(epsilon / 5) * d_1` treats as standard differential privacy treats any distance."""


@dataclass(frozen=True)
class Setting:
    """One promise, and the scale of its noise on the average in days."""

    name: str
    scale: float

    def within(self, days: Floats) -> Floats:
        """The share of answers that are off by no more than this."""
        share: Floats = -np.expm1(-days / self.scale)
        return share


def settings(epsilon: float) -> tuple[Setting, Setting]:
    """Any date, and days."""
    return (
        Setting("ε·d_h: any date for any other", DAYS / (STUDENTS * epsilon)),
        Setting("(ε/5)·d₁: dates up to 5 days apart", NEAR / (STUDENTS * epsilon)),
    )


def measured_error(setting: Setting, draw: np.random.Generator, answers: int = 20_000) -> float:
    """The mean error in days of so many published averages of drawn registration dates.

    An average is published within the years on record, as anybody would.
    """
    truth = draw.uniform(0, DAYS, (answers, STUDENTS)).round().mean(axis=1)
    published = np.clip(truth + draw.laplace(scale=setting.scale, size=answers), 0, DAYS)
    return float(np.abs(published - truth).mean())
