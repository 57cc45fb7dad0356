"""Glossaries: terms and how they are translated, from requests and from an operator's files."""
