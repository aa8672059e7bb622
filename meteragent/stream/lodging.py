"""Which rows of stores the rows of a cohort are, where it has stores of its own: the same."""

from meteragent.privacy.arrays import Integers


class Lodging:
    """The rows of a cohort in the stores that hold its meters' open panes."""

    def __init__(self) -> None:
        self.rows = 0

    def take(self, count: int) -> int:
        """Let so many more move in; answer with the first row that they have there."""
        first = self.rows
        self.rows += count
        return first

    def of(self, rows: Integers) -> Integers:
        """Where they are there."""
        return rows

    @property
    def everyone(self) -> Integers | slice:
        """Where all of them are."""
        return slice(self.rows)
