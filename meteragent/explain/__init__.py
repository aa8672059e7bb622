"""Words and numbers for people: what a policy promises, tells and has spent. Pure.

guarantee   what a policy promises, per release and per horizon, worded once
leakage     what a release tells at most
reader, bills    what a reader makes of releases for free: guesses, likelihoods, sums
spread      what a reader makes of the layers of a group: homes above thresholds, quantiles
loads       everyday loads, and how well all releases together can tell them
advantage   how often the best attacker is right who holds several stories, exactly
one_home    what one home's readings are to a group
habits      the same of everyday loads, once and as habits
document    what is said of a policy
explain     a policy -> this document: numbers, and sentences that say what they mean
dpia        a data protection impact assessment, begun: what a configuration answers of it
advice      what is doubtful about a policy
accounts    what was spent, what is left, when it comes back
in_all      what a home has lost, and may lose, by itself and by its groups
day         a made-up day of a home, for pictures
words       numbers as people read them
"""
