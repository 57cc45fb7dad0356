"""Five times the load that the service can serve: accepted requests are served in time, others are refused at once."""
