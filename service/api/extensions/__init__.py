"""Protocols of others that the service speaks besides its own: Open Inference Protocol, LibreTranslate's pages."""
