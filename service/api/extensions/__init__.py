"""Other protocols that the service supports: the Open Inference Protocol, LibreTranslate's pages."""
