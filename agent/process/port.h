#pragma once
// Free TCP ports of this machine: one for MASTER_PORT, and a check of a given one.
//
// A reserved port lies outside the kernel's ephemeral range, so no outgoing connection between the
// reservation and the worker's bind can get it; only where too few others are left, it may be an
// ephemeral one. It is drawn at random from many, so that two runs hardly ever draw the same. Used
// by the agent and by the command line's pre-flight check. Linux only: /proc/sys/net/ipv4.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::agent {

// A port that nothing is bound to, on IPv4 and IPv6. kUnavailable when none was found.
base::Result<std::uint16_t> reserve_port(base::Rng& rng);

// kConflict with "port 29500 is in use by pid 123 (python3) of user x" when a server cannot be
// started on `port`; old connections in TIME_WAIT do not count.
base::Status check_port_free(std::uint16_t port);

// The ports that reserve_port() draws from, ascending. The texts are those of /proc/sys/net/ipv4/
// ip_local_port_range and ip_local_reserved_ports. Pure.
std::vector<std::uint16_t> candidate_ports(std::string_view ephemeral, std::string_view reserved);

}  // namespace robustrun::agent
