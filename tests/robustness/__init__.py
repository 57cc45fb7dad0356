"""Inputs as users type them, which no parallel text has: the shipped models must stay sane."""
