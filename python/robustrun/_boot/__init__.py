"""How does a program run as under plain Python, and yet be seen by the agent and prepared for?"""
