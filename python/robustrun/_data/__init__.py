"""Which samples does a rank read next, from a specification or from the script's own dataset?"""
