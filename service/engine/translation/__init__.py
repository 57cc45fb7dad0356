"""One text through one model: its sentences, their runs, given translations, and the legs of a pivot."""
