"""What can a training script tell its agent and ask it?"""
