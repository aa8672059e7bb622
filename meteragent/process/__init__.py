"""What runs until it is told to end: its event loop, its signals, its patience.

loop        the event loop, what is bounded in time, and the clocks that are handed in
instance    starts over for as long as that may help; tells whether it gets on
"""
