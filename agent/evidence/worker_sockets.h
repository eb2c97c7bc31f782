#pragma once
// The TCP connections of a worker and its descendants, with the kernel's own account of each
// (sock_diag(7), INET_DIAG_INFO: tcp_info): bytes that wait to be read, acknowledged or sent again,
// and how long nothing has arrived.

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// Connected sockets of our own network namespace, IPv4 and IPv6: first those with waiting bytes,
// then those that sent last; at most kSocketsMax. `tree`: the processes. Blocks for some
// milliseconds, and for kSocketAnswerMax if the kernel does not answer: for the blocking pool.
base::Result<std::vector<tracer::SocketState>> sockets_of(std::span<const pid_t> tree);

// Adds to `after`, a second look, what went over each connection since the first one, `before`.
// `apart`: the time between the looks.
void compare_sockets(std::span<const tracer::SocketState> before,
                     std::vector<tracer::SocketState>& after, base::Nanos apart);

// Whether a connection to another machine carries data: more than kIdleSocketBytes went over it
// between the two looks, it is new, or bytes that were sent are not acknowledged.
[[nodiscard]] bool carry_data(std::span<const tracer::SocketState> before,
                              std::span<const tracer::SocketState> after);

// Whether a descendant of the worker, the first process of `tree`, has a connection to another
// machine that it has not inherited from the worker. Blocks like sockets_of().
base::Result<bool> descendants_are_connected(std::span<const pid_t> tree);

}  // namespace robustrun::agent
