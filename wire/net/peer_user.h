#pragma once
// The user at the other end of a TCP connection within this machine.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace robustrun::wire {

inline constexpr uid_t kUnknownUser = static_cast<uid_t>(-1);
// The user of the process at the other end of `connection` (a connected TCP socket), if it is
// another user of this machine. kUnknownUser: that process has closed its end. nullopt: the user is
// our own or root, the other end is outside this process's network namespace, or the kernel does
// not tell. Asks the kernel by sock_diag(7); takes microseconds.
[[nodiscard]] std::optional<uid_t> other_user_at(int connection);

// Makes a handler for a listener that refuses other users: it logs the first one. `purpose`: what
// the port is for, in the log line.
[[nodiscard]] std::function<void(uid_t)> note_other_user(std::string purpose);

}  // namespace robustrun::wire
