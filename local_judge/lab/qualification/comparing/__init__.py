"""Judges compared: what each is worth on the same items, what it costs, and what two are worth together.

Invariant: a comparison is a pure function of finished qualifications; it asks no judge anything.

    model       what a comparison says
    pairs       one judge less another, figure by figure
    expense     cost beside quality, and who is dominated
    ensembles   the mean of several judges against the better one
    orders      agreement of judges on the scores of reports, and whether the order of systems would stay
    scores      what judges gave the same reports
    comparison  qualifications read, compared, written
    page        the page
"""
