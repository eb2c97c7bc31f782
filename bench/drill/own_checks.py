"""Checks with known results, for tests of the frame (--own)."""

import subprocess
import sys
import time

from drill.frame import Check, Skip, Wrong


def passing(drill):
    """passes"""
    drill.finding.figure("answer", 42)
    drill.finding.record("own/answer.txt", "42\n")
    drill.finding.claim("the answer is 42", True, 42)
    return "the answer is 42"


def skipping(drill):
    """is skipped"""
    raise Skip("there is nothing to look at")


def failing(drill):
    """fails"""
    raise Wrong("41 was seen")


def claiming(drill):
    """has one wrong claim of two"""
    drill.finding.claim("one is one", True, 1)
    drill.finding.claim("one is two", False, "it is 1")


def dying(drill):
    """has an error of its own"""
    return 1 // 0


def hanging(drill):
    """never ends, and leaves a process behind"""
    drill.finding.figure("before", 1)
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(1000)",
                      "left-behind"])
    time.sleep(1000)


def greedy(drill):
    """needs more time than there is"""


CHECKS = [Check("passing", passing, 20, 1), Check("skipping", skipping, 20, 1, alone=False),
          Check("failing", failing, 20, 1, alone=False),
          Check("claiming", claiming, 20, 1, alone=False),
          Check("dying", dying, 20, 1, alone=False), Check("hanging", hanging, 4, 1, alone=False),
          Check("greedy", greedy, 10_000, 9_000)]
