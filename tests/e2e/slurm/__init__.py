"""Does a run inside Slurm use its allocation, and end as Slurm asks?"""
