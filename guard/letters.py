"""Small letters, place for place."""


def lowered(text: str) -> str:
    """Return a text in small letters in which every character stands where it stood.

    A few capitals are lowered to two characters, after which every place would be off; those stay.
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := c.lower()) == 1 else c for c in text)
