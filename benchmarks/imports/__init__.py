"""Imported models of real size: what an import costs, and its speed beside CTranslate2 on the same checkpoint."""
