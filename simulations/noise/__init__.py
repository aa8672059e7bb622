"""What is gained from the same noise: the order of answers, one draw for all, a reader's work.

settings    policies that ask several queries, each at one total loss
errors      how far answers are off, before and after they agree with their order
optimum     the best that any mechanism could do, by linear programmes, for a few levels
smoothing   what a reader's smoothing leaves of the error, and of a day's mean
pictures    errors side by side
"""
