"""How many values (numbers, addresses, placeholders, …) survive a translation, and at what cost."""
