#pragma once
// The process that listens on a TCP port of this machine, from /proc.

#include <cstdint>
#include <optional>
#include <string>

namespace robustrun::wire {

// "process 4711 (python3)"; nullopt: no process listens on `port`, or /proc hides the process's
// descriptors because another user owns it.
[[nodiscard]] std::optional<std::string> port_owner(std::uint16_t port);

}  // namespace robustrun::wire
