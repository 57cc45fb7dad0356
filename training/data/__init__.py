"""From files of parallel text to batches of token ids."""
