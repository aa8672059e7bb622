"""One module per command: `run(arguments)` does it and answers with its exit code.

parser, arguments    what can be said to the program
check, explain, gateway, ledger, run, sanitize, topics    what is done every day
completion, config, convert, explore, init, inspect, key, schema    the other commands
settings    what is released, as a command is told
explored    what the page of `explore` shows, worked out
kept        where accounts are kept: those of meters and of groups
tiers       where noisier copies of releases go
exit_codes, layout    how a command ends, and how its words fit a terminal
"""
