"""For tests of the IO bridge: clocks that are moved by hand."""

__all__ = ["Clocks"]


class Clocks:
    """A clock of the wall and one that never jumps, moved by hand."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_764_000_000.0, 100.0

    def pass_by(self, seconds: float) -> None:
        """Time goes by."""
        self.wall += seconds
        self.steady += seconds
