"""What watches an agent: events become metrics and log lines, and a page shows how it is.

events      what happens, told once
watched     what an agent is asked
series, gauges    what is counted, and what is looked at when somebody asks
sums, shown    how sums of groups stand, who waits for whom, and what the page shows of it
balances    where budgets stand
recent      what happened lately
looked      what a gateway keeps on its disk
decided     steps of a pipeline -> events
metrics     events -> counters, log lines
remarks     errors of Kafka's clients, in words of ours
log, trace  lines that hold no reading
http_message, web, fixed, status    the page for people, and how it is served
kept_counts, families, whole    several processes, counted and shown as one
notify      the service manager is told that there is progress
"""
