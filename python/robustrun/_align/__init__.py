"""Which rank computes, sends or receives different bits than the others?"""
