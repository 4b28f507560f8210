"""Agreement of people with each other, and of a method with people.

Invariants: what does not exist (0/0, a constant vector, too few ratings) is None with its reason and is counted, never
NaN and never a zero; whether two numbers are equal is decided on fractions and never on rounded means; the same ratings
give the same numbers, in whatever order they come.

    exact          numbers as fractions, ranks, signs
    estimate       a number with its interval: the bootstrap over tasks
    sums           measures of sums over tasks
    correlation    Pearson, Spearman, Kendall's tau-b, Fisher's interval
    concordance    Kendall's W
    icc            ICC(1,1), ICC(2,1), ICC(2,k)
    alpha          Krippendorff's alpha
    kappa          Cohen's kappa
    pairs          pairwise agreement
    ratings        who rated what how
    people         how far people agree with each other
    judges         how far judges agree with each other on the items of reports
    stability      how far judges agree with each other on the scores and the order of reports
    method         how far a method agrees with people
    orders         whether systems keep their order on other tasks
"""
