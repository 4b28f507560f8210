"""Comparison of judges: quality on the same items, cost, and quality of ensembles.

Invariant: a comparison is a pure function of finished qualifications. It makes no model calls.

    model       the stored comparison
    pairs       differences between two judges, figure by figure
    expense     cost and quality, and which judges are dominated
    ensembles   the mean of several judges compared with the best of them
    orders      agreement of judges on the scores of reports, and stability of the order of systems
    comparison  reads qualifications, compares them, and writes the result
    page        the page
"""
