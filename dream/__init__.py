"""The dream cycle: a snapshot, ten pure steps, one journalled batch, and the answers to what it asked."""
