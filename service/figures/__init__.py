"""Pictures and files of attention: pure functions from engine results to specifications, and the process that draws."""
