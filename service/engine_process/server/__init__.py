"""The side of the engine process: runs the models and answers calls."""
