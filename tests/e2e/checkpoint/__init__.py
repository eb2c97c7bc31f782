"""Is what is loaded what was saved, whatever dies and breaks in between?"""
