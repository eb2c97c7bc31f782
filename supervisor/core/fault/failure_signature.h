#pragma once
// The signature of a failure: two failures with the same signature count as the same. Pure.
//
// It consists of how the worker ended, and of its last message: the one in the error file,
// otherwise the last line with text on stderr, with every number and address replaced by '#'.
// Ranks, pids, ports, step numbers and times are not part of it, so the same bug gives the same
// signature on any rank and at any time.

#include <string>
#include <string_view>

#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

std::string failure_signature(const WorkerExited& exited);
std::string failure_signature(const WorkerStartFailed& failed);

// The first line of `text`, with digits, 0x… and hexadecimal words of 8 or more characters (a digit
// among them) as '#', and runs of spaces as one space; at most kSignatureBytesMax bytes.
std::string without_numbers(std::string_view text);

// True when its message or its last lines on stderr report that an address was already in use.
bool says_address_in_use(const WorkerExited& exited);

}  // namespace robustrun::supervisor
