"""Values: parts of a sentence that must arrive in its translation exactly once, such as numbers and addresses."""
