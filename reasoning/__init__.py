"""The optional language model. Nothing here yet: the dream cycle will bring it."""
