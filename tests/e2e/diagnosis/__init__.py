"""When a job hangs, slows down or fails: is the right rank, machine or line named?"""
