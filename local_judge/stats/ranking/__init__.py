"""Systems in order, from games between two of them: Bradley-Terry strengths with intervals over tasks."""
