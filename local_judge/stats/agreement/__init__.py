"""Agreement of people with each other, of judges with each other, and of a method with people.

Invariants: what does not exist (0/0, a constant vector, too few ratings) is None with its reason and is counted, never
NaN and never a zero; whether two numbers are equal is decided on fractions and never on rounded means; the same ratings
give the same numbers, in whatever order they come.

    ratings          who rated what how
    icc              ICC(1,1), ICC(2,1), ICC(2,k)
    alpha            Krippendorff's alpha
    kappa            Cohen's kappa
    pairwise         of two reports on one task, do both prefer the same?
    annotators       inter-annotator agreement
    inter_judge      inter-judge agreement on the items of reports
    stability        inter-judge agreement on the scores and the order of reports
    method           how far a method agrees with people
    difference       by how much one method agrees better than another
    order_stability  whether systems keep their order on other tasks
"""
