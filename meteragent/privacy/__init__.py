"""What is promised, exactly: from watts to a noisy level, and what it costs. Pure.

exact, units, arrays    numbers: exact decimals, durations and powers, columns
native      the wheel that does some of this faster, where it is installed
domain      watts <-> levels of a public grid
windows     which window: from when to when it lasts, and how many slots it has
zone, calendar    the days, weeks and months of a time zone, by what its clocks show
registers, hours    hours of the week, by the same clocks: which slots they hold, of which windows
fill        what a slot holds that no reading came for
query       windows -> levels, by laws that the whole guarantee rests on
question, asking    a query, and what its answer may lose; what is asked of which windows
order       released levels that agree with the order of what they answer
agreement   the same of what a policy releases, as far as it is granted
thresholds  uniform words -> a number of any law, exactly
mechanism   level -> noisy level, with the proofs in `mechanism.md`
refinement    a draw -> a noisier one, so that nothing more is lost
joint       the levels that answer all queries -> noisy ones, by one draw
entropy     the words that noise is made of: a keyed function of what is answered
terms, ledger    accounts: a ring for each policy of a meter, what it spent and may spend
ledger_record, billing    accounts as bytes, and back, under the shares of then or of now
tier, policy    what is released of a window, at what price, and of which other it is a copy
group       a group of homes, read as one meter
layers      how homes of a group spread over what they draw
members     who is in which group when, as far as the reserve of homes covers it
published   policies from the documents in which they were published
tiers       noisier copies of releases for other audiences, of the same draws
release     windows that are paid for -> values
"""
