"""What tests of several folders use: robustrun, its processes, jobs, and machines to run on."""
