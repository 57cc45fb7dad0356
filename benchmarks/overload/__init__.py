"""Five times as much as the service can do: who is let in is served in time, who is not is told so at once."""
