"""How is a state saved so that all of it can be trusted, and found again?"""
