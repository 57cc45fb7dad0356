"""Pictures and files of attention: functions from engine results to specifications, and the renderer process."""
