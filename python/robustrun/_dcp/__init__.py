"""How does torch.distributed.checkpoint save and load through the same engine?"""
