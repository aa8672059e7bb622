"""Five papers, number by number: what each of them proves, prints and draws, computed again.

Broadening: K. Chatzikokolakis, M. E. Andrés, N. E. Bordenabe, C. Palamidessi, "Broadening the
Scope of Differential Privacy Using Metrics", PETS 2013.
Metric spaces: N. Holohan, D. J. Leith, O. Mason, "Differential Privacy in Metric Spaces:
Numerical, Categorical and Functional Data Under the One Roof", Information Sciences 2015.
Regions of priors: E. ElSalamouny, K. Chatzikokolakis, C. Palamidessi, "Generalized Differential
Privacy: Regions of Priors That Admit Robust Optimal Mechanisms", 2014.
Linear queries: P. Kamalaruban, V. Perrier, H. J. Asghar, M. A. Kaafar, "Not All Attributes are
Created Equal: d_X-Private Mechanisms for Linear Queries", PETS 2020.
Universal: N. Fernandes, A. McIver, C. Palamidessi, M. Ding, "Universal Optimality and Robust
Utility Bounds for Metric Differential Privacy", CSF 2022.

Each module is one idea of one paper, in the paper's own words and with its own letters. `tables`
has a row for every numbered item; the rows end up on one page, `results/papers.md`.
"""
