"""What the source papers print, recomputed, and compared number by number.

Broadening: K. Chatzikokolakis, M. E. Andrés, N. E. Bordenabe, C. Palamidessi, "Broadening the
Scope of Differential Privacy Using Metrics", PETS 2013.
Universal: N. Fernandes, A. McIver, C. Palamidessi, M. Ding, "Universal Optimality and Robust
Utility Bounds for Metric Differential Privacy", CSF 2022.
"""
