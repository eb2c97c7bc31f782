#pragma once
// TCP ports of this machine: one that is free for MASTER_PORT, and who holds one that is not.
//
// A reserved port lies outside the kernel's ephemeral range, so that no connection that anybody
// opens between the reservation and the worker's bind can be given it; it is drawn at random from
// many, so that two robustruns hardly ever draw the same. Used by the agent and by the command
// line's pre-flight check. Linux only: /proc/net/tcp, /proc/sys/net/ipv4.

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

struct PortHolder {
  pid_t pid = 0;        // 0: not visible to us
  std::string user;     // name, or the number when it has none
  std::string command;  // empty: not visible to us
};

// Who listens on `port` (or else is bound to it); nullopt when nobody is seen.
std::optional<PortHolder> port_holder(std::uint16_t port);

// kConflict with "port 29500 is in use by pid 123 (python3) of user x" when a server cannot be
// started on it; old connections in TIME_WAIT do not count.
base::Status check_port_free(std::uint16_t port);

// The ports that reserve_port() draws from, ascending. Texts as in /proc/sys/net/ipv4/
// ip_local_port_range and ip_local_reserved_ports. Pure.
std::vector<std::uint16_t> candidate_ports(std::string_view ephemeral, std::string_view reserved);

}  // namespace robustrun::agent
