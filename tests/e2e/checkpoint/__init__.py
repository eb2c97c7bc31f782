"""Is what is loaded what was saved, whatever dies or breaks in between?"""
