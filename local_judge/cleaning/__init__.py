"""Citations taken out of a report by a judge, within what code allows."""
