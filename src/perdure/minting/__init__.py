"""When: exact time grids, the clocks that drive them, and the suffixes that come of it."""
