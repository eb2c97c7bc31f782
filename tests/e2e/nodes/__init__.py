"""Do the machines of a job become one group, stay one, and end as one?"""
