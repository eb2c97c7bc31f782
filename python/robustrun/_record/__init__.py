"""What does a worker leave for its agent: the progress record, and the files beside it?"""
