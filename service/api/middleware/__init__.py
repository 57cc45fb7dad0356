"""Plain ASGI middleware; Starlette's BaseHTTPMiddleware would hide that a client has disconnected."""
