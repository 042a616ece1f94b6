"""Exact timelines of dates, the clocks behind them, and suffixes that need no clock."""
