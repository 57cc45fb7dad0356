"""Engine processes: the channel, both of its sides, and the end of one of them."""
