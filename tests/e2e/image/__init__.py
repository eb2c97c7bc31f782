"""Do workers see the whole image, wherever it lies and whatever fails?"""
