"""Which rank computes, sends or receives other bits than the rest?"""
