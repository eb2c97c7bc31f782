#pragma once
// Which process holds a TCP port of this machine: /proc/net/tcp{,6} gives the socket's inode and
// user, /proc/PID/fd the process that has the socket open. The user's name comes from /etc/passwd
// itself, because NSS may ask a dead network directory. Blocks for some milliseconds.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace robustrun::agent {

struct PortHolder {
  pid_t pid = 0;        // 0: not visible to this process
  std::string user;     // name, or user id if it has no name
  std::string command;  // empty: not visible
};

// The process that listens on `port`, otherwise one that is bound to it; nullopt: neither exists.
std::optional<PortHolder> port_holder(std::uint16_t port);

}  // namespace robustrun::agent
