"""Quality of translations and alignments: scores, reports by domain and by length, comparison with eflomal."""
