"""The exact cache: finished sentences are kept, and equal sentences in flight share one decode (ADR 30)."""
