"""Which prompts are worth a search that nobody asked for. Without imports: a hook reads this before anything else."""

FEWEST_WORDS = 3


def is_worth_a_search(prompt: str) -> bool:
    """Return whether a person says something in a prompt: not a command, a tag of the client, or "yes, go on"."""
    return len(prompt.split()) >= FEWEST_WORDS and not prompt.lstrip().startswith(("/", "<", "!"))
