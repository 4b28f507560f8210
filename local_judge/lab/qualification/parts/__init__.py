"""The parts of a qualification: each asks one kind of question and gives items."""
