"""What watches an agent: events become metrics and log lines, and a page shows how it is.

events      what happens, told once
metrics     events -> counters, log lines; `gauges` and `series` are what is looked at
log, trace  lines that hold no reading
status, web, page    the page for people, and how it is served
notify      the service manager is told that there is progress
"""
