"""The dream cycle: a snapshot, ten pure steps, one journalled batch, undo, and the answers to what it asked."""
