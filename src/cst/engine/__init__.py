"""One loop, one checkpoint format, one schedule."""
