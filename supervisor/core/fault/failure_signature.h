#pragma once
// When are two failures the same failure? Pure.
//
// A signature is how the worker ended and what it said last: the error file's message, else the
// last line on stderr that holds text, with every number and address replaced by '#'. The rank,
// pids, ports, step numbers and times are not part of it, so the same bug gives the same
// signature on whatever rank and at whatever moment it strikes first.

#include <string>
#include <string_view>

#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

std::string failure_signature(const WorkerExited& exited);
std::string failure_signature(const WorkerStartFailed& failed);

// First line of `text`: digits, 0x… and hexadecimal words of 8 or more characters become '#',
// runs of spaces one space; at most kSignatureBytesMax bytes.
std::string without_numbers(std::string_view text);

// True when its message or its last lines on stderr say that an address was already in use.
bool says_address_in_use(const WorkerExited& exited);

}  // namespace robustrun::supervisor
