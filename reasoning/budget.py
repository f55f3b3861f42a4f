"""What a call may cost, counted before it is sent."""

from dataclasses import dataclass

from reverie.errors import BudgetSpent

LIST_PRICES: dict[str, tuple[float, float]] = {
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
    "o4-mini": (1.10, 4.40),
}
"""Dollars for a million tokens in and out."""

UNKNOWN_PRICE = (10.00, 30.00)
"""For a model not on the list: rather stop too early than spend what nobody agreed to."""

_CENTS_PER_TOKEN = 100 / 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, in and out."""

    sent: float
    answered: float

    def cents(self, tokens_sent: int, tokens_answered: int) -> float:
        """Return what so many tokens cost."""
        return (tokens_sent * self.sent + tokens_answered * self.answered) * _CENTS_PER_TOKEN


def price_of(model: str, given: tuple[float, float] | None = None) -> Price:
    """Return the price that was set, or the list price, or a high one."""
    return Price(*(given or LIST_PRICES.get(model, UNKNOWN_PRICE)))


class Budget:
    """What may be spent in one night; never more, whatever the model says about its own use."""

    def __init__(self, cents: float) -> None:
        self.cents = cents
        self.spent = 0.0

    def check(self, call_cents: float) -> None:
        """Make sure that a call fits.

        Raises:
            BudgetSpent: if it could pass the budget.
        """
        if self.spent + call_cents > self.cents:
            raise BudgetSpent(self.spent, call_cents, self.cents)

    def charge(self, call_cents: float) -> None:
        """Note what a call has cost."""
        self.spent += call_cents
