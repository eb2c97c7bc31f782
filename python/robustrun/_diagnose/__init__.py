"""What of torch can the agent read to find the rank that blocks the others?"""
