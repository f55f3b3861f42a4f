"""Keeping numbers within bounds."""


def clamped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Bring the value into [low, high]; what is not a number counts as low, the cautious end."""
    if value != value:
        return low
    return min(max(value, low), high)
