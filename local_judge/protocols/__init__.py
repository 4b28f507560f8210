"""One folder per published way to judge a report; what two share lives in a module of this one."""
