#pragma once
// Host files: on each line one host or one list of hosts (host_list.h), then its attributes.
//
//   node[01-16] slots=8               DeepSpeed
//   ada@node17 slots = 8 max_slots=9  OpenMPI
//   node18:8                          MPICH: eight workers
//   node19:2222 slots=8               with slots=, the number after the colon is ssh's port
//
// "#" begins a comment. Without slots=, a number after the colon is the number of workers if it is
// at most kColonSlotsMax, and a port if it is at least kColonPortMin; numbers in between, and 22,
// are ambiguous and refused. max_slots is checked but has no effect: nothing is oversubscribed.
//
// Pure. Errors begin with "FILE:LINE: ", or with "FILE: " if the file is too long (kLimit).

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

inline constexpr std::uint16_t kColonSlotsMax = 128;
inline constexpr std::uint16_t kColonPortMin = 1024;

// Returns at least one host, in the file's order. kConflict: a host is named twice. `name`: the
// file's name, for messages.
[[nodiscard]] base::Result<std::vector<Host>> parse_host_file(std::string_view text,
                                                              const std::string& name);

}  // namespace robustrun::launcher
