"""Are unfit machines and GPUs found, before and during a run?"""
