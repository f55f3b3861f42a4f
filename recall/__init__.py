"""From a query to an answer: candidates (storage/) → features → score → rerank → render; search.py runs them."""
