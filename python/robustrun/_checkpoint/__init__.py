"""How is a state saved so that it can be trusted, and loaded again?"""
