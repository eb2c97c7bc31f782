"""Is the rank, machine or line named at which a job hangs, slows down or fails?"""
