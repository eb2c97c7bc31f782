"""Does a run inside Slurm take what Slurm gave it, and end as Slurm wants it?"""
