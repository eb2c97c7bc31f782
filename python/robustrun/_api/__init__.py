"""What may a training script tell its agent, and ask it?"""
