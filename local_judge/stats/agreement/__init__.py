"""Agreement of people with each other, of judges with each other, and of a method with people.

Invariants: an undefined measure (0/0, a constant vector, too few ratings) is None with its reason and is counted; it is
never NaN or zero. Equality of two numbers is decided on fractions, not on rounded means. The same ratings give the same
numbers in any order.

    ratings       ratings by people and scores of a method; pairwise agreement; means over judges
    icc           ICC(1,1), ICC(2,1), ICC(2,k)
    chance        Cohen's kappa, Krippendorff's alpha
    annotators    inter-annotator agreement
    inter_judge   inter-judge agreement on the items of reports
    concordance   agreement of people on the order of what their items belong to
    stability     inter-judge agreement on scores and order of reports; stability of the order of systems
    method        agreement of a method with people, and the difference of two methods
    items         agreement of judges with people's labels of single items
"""
