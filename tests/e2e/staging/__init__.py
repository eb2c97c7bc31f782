"""Does a start bring dependencies, files and code to every machine, and say how far it is?"""
