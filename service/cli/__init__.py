"""The commands of `translucent`."""
