"""Do the packages run on the systems that users have, and leave nothing when they are removed?"""
