"""What does a worker record for its agent, in the progress record and in files beside it?"""
