"""What runs until it is told to end: its event loop, its signals, its patience.

loop        the event loop, what is bounded in time, and the clocks that are handed in
instance    starts over for as long as that may help; tells whether it gets on
processes   several of a group, started, and started anew when they end
reports     what each of these is given, and tells
processors  how many processors there are to use
"""
