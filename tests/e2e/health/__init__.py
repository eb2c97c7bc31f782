"""Are machines and GPUs that are not fit found, before and during a run?"""
