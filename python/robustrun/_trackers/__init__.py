"""How do the runs of an experiment tracker outlive an attempt?"""
