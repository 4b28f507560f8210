"""Statistics of scores, of people and of judges: pure functions of numbers, which know of no run and no protocol.

numeric         how numbers are compared: fractions, ranks, rounding
estimate        a number with its interval: the bootstrap over tasks
correlation     Pearson, Spearman, Kendall's tau-b and W; of one sample, and of many resamples at once
rates           shares with Wilson's interval
significance    p-values of bootstrap draws, Holm's correction
agreement/      of people with each other, of judges with each other, of a method with people
calibration/    how far a judge's probabilities can be believed
length          how a score goes with the length of the report
bradley_terry   strengths of systems from games
ranking         the table of systems from their matches
"""
