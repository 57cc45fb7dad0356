"""What users type that no parallel text holds: the shipped models must stay sane on it."""
