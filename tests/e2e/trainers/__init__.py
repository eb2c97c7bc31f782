"""Does an unmodified script of a known trainer survive a kill, with torchrun's losses?"""
