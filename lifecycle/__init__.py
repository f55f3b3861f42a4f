"""The mathematics of memory: pure functions, no clock, disk, network or dice."""
