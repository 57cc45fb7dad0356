"""Our service against the usual way of serving CTranslate2, under an open stream of requests."""
