"""The server: composition root, HTTP transport, reloading."""
