"""The service and bulk translation on a Ray cluster."""
