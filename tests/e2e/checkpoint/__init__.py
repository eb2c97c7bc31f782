"""Is the loaded state the saved one, whatever dies or breaks in between?"""
