"""How does a state become named tensors and plain values, and come back in place?"""
