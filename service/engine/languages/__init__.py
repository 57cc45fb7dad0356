"""Language tags, and the default model of a pair."""
