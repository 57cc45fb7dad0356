"""The HTTP side: one application over the engine, with routes in one file for each family."""
