"""Many runs from one file, on one machine or several."""
