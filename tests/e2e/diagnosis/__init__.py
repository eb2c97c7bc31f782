"""Is the rank, machine or line named that a job hangs, slows down or fails at?"""
