"""Statistics of scores, of people and of judges: pure functions of numbers, independent of runs and protocols.

numeric         comparison of numbers: fractions, ranks, rounding
estimate        estimates with bootstrap intervals over tasks; p-values of sign flips, Holm's correction
correlation     Pearson, Spearman, Kendall's tau-b and W; of one sample, and of many resamples at once
rates           shares with Wilson's interval
agreement/      agreement of people with each other, of judges with each other, of a method with people
calibration/    calibration of a judge's probabilities
length          relation of a score to the length of the report
bradley_terry   strengths of systems from games
ranking         ranking of systems from their matches
"""
