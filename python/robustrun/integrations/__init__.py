"""How do the trainers of other projects save and load through our engine?"""
