"""The dream cycle. So far its first step, the sweep; the others come with their issue."""
