"""API keys, rate limits and limits of connections and bodies, without HTTP."""
