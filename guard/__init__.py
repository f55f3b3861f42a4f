"""What may come in and how it goes out: secrets, hidden characters, orders, fences. Pure text, no libraries."""
