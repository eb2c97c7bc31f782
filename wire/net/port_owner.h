#pragma once
// The process that listens on a TCP port of this machine, from /proc: the socket's inode in
// net/tcp, then the process with a descriptor of that inode.

#include <cstdint>
#include <optional>
#include <string>

namespace robustrun::wire {

// "process 4711 (python3)"; nullopt when no process listens on `port`, or /proc does not show it
// (other users' descriptors).
[[nodiscard]] std::optional<std::string> port_owner(std::uint16_t port);

}  // namespace robustrun::wire
