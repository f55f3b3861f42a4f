"""From candidates to an answer: features, score, rerank, render."""
