"""The dream cycle. Nothing here yet: its issue builds it."""
