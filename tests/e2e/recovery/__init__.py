"""Does a job go on after a fault, with nothing lost and no process left behind?"""
