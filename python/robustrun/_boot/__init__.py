"""How does a program run as under plain Python, and still be observed and prepared?"""
