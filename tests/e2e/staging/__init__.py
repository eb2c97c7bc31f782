"""Does a start bring dependencies, files and code to every machine, and report its progress?"""
