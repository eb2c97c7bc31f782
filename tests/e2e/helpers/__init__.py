"""Helpers for tests of several folders: robustrun, its processes, jobs, and machines to run on."""
