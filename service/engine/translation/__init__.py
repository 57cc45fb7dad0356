"""One text through one model: its sentences, their runs, given translations, streams and the legs of a pivot."""
