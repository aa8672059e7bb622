"""The configuration: frozen models, read from TOML and the environment.

fields      the kinds of values, each read strictly
directory   which files there are, whatever happens
secretfile, secrets, keyfile    files that only their owner may read
zones, windows    from when to when windows last: durations, or what clocks show
amount      what all answers of a horizon may lose
tier        noisier copies of what a policy releases, for other audiences
queries, policy, presets    what is released of which meters, and what somebody wants to hide
choice      what of a policy is its preset's
nearby      settings near those of a policy, to compare
group       what is released of groups of homes, and what homes reserve for it
budget      the account of a meter that has several policies
input, recipes    how readings are written, and known formats by name
watch       the status page and the log
registry    where schemas are
kafka, mqtt, model    all the other settings, and the whole
allowance   what may be lost of one home in all
works       what kinds of work follow from it
pipelines   what its meters are released by
tree        tables and settings, found by walking the models
problems, load    TOML and environment -> `Config`, or every problem at once
reference   every setting, explained
"""

from meteragent.config.load import from_document as from_document
from meteragent.config.load import load as load
from meteragent.config.load import refuse_unreadable as refuse_unreadable
from meteragent.config.model import AgentSettings as AgentSettings
from meteragent.config.model import Config as Config
from meteragent.config.watch import Http as Http
from meteragent.config.watch import Log as Log

__all__ = ["AgentSettings", "Config", "Http", "Log", "from_document", "load", "refuse_unreadable"]
