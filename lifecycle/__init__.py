"""The mathematics of remembering and forgetting: pure functions, no clock, disk, network or dice."""
