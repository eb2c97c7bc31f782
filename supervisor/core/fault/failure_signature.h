#pragma once
// The signature of a failure: two failures with the same signature count as the same. Pure.
//
// The signature of a worker's exit tells how the worker ended, and has its last message with every
// number and address replaced by '#'. The message comes from the error file; if that has no
// message, it is the last line on stderr that is not blank. As ranks, pids, ports, step numbers and
// times are left out, the same bug gives the same signature on any rank and at any time. The
// signature of a failed start has only the errno.

#include <string>
#include <string_view>

#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

std::string failure_signature(const WorkerExited& exited);
std::string failure_signature(const WorkerStartFailed& failed);

// The first line of `text`, at most kSignatureBytesMax bytes. Each number, each 0x… and each
// hexadecimal word of 8 or more characters with a digit in it becomes '#'. Each run of spaces
// becomes one space.
std::string without_numbers(std::string_view text);

// True when the worker's error file or its last lines on stderr report that an address was already
// in use.
bool says_address_in_use(const WorkerExited& exited);

}  // namespace robustrun::supervisor
