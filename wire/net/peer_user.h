#pragma once
// The user at the other end of a TCP connection within this machine.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace robustrun::wire {

// The user whose process is at the other end of `connection`, a connected TCP socket, if that is
// another user than ours; kUnknownUser if the process has closed its end. nullopt: the other end is
// our own user's or root's, is not in this machine's network namespace, or the kernel does not
// tell. Asks the kernel for the socket at that end (sock_diag(7), inet_diag_req_v2), if its address
// is this machine's; takes microseconds.
inline constexpr uid_t kUnknownUser = static_cast<uid_t>(-1);
[[nodiscard]] std::optional<uid_t> other_user_at(int connection);

// For a listener that refuses other users: logs the first one. `purpose`: what the port is for.
[[nodiscard]] std::function<void(uid_t)> note_other_user(std::string purpose);

}  // namespace robustrun::wire
