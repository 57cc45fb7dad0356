"""The server side, in the engine process: runs the models and answers calls."""
