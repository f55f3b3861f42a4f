"""What may come in and how it goes out: secrets, injection, fences. Pure text."""
