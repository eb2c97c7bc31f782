"""What does a specification of data say, and how does the library feed a rank?"""
