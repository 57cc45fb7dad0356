"""Quality of translations and alignments: scores, and reports by domain and by length."""
