#pragma once
// Finds a free TCP port of this machine for MASTER_PORT, and checks a given port.
//
// The port is drawn from outside the kernel's ephemeral range, so that no outgoing connection takes
// it before the worker binds it. If too few such ports are left, ephemeral ports are drawn, too.
// The draw is random, so that two runs rarely get the same port. Linux only: /proc/sys/net/ipv4.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::agent {

// A port that nothing is bound to, on IPv4 and IPv6; it is not kept bound. kUnavailable: none was
// found.
base::Result<std::uint16_t> reserve_port(base::Rng& rng);

// Whether a server can listen on `port`. kConflict: the port is in use; the text names the process
// and its user, if they are visible. Old connections in TIME_WAIT do not count.
base::Status check_port_free(std::uint16_t port);

// The ports that reserve_port() draws from, ascending. `ephemeral` and `reserved`: the texts of
// ip_local_port_range and ip_local_reserved_ports in /proc/sys/net/ipv4. Pure.
std::vector<std::uint16_t> candidate_ports(std::string_view ephemeral, std::string_view reserved);

}  // namespace robustrun::agent
