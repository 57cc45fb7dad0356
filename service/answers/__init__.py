"""The answers of the HTTP interface as models: the server writes them, and `translucent_mt` reads them (ADR 32)."""
