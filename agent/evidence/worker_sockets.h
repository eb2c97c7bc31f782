#pragma once
// The TCP connections of a worker and its descendants, with the kernel's data on each (tcp_info by
// INET_DIAG_INFO in sock_diag(7)): bytes that wait to be read or acknowledged, retransmissions, and
// the time since data last arrived.

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// Sockets of the processes `tree` that are connected or connecting, IPv4 and IPv6, in the agent's
// network namespace. Sockets with waiting bytes come first; in both groups the one that sent last
// comes first. At most kSocketsMax. Blocks for some milliseconds, longer if the kernel does not
// answer (kSocketAnswerMax): for the blocking pool.
base::Result<std::vector<tracer::SocketState>> sockets_of(std::span<const pid_t> tree);

// `before` and `after`: results of two looks, `apart` from each other. Sets the members of `after`
// that tell what went over each connection meanwhile.
void compare_sockets(std::span<const tracer::SocketState> before,
                     std::vector<tracer::SocketState>& after, base::Nanos apart);

// Whether a connection to another machine carries data: more than kIdleSocketBytes went over it
// between the two looks, it is new, or sent bytes are not acknowledged.
[[nodiscard]] bool carry_data(std::span<const tracer::SocketState> before,
                              std::span<const tracer::SocketState> after);

// `tree`: the worker, then its descendants. Whether a descendant has a connection to another
// machine that it has not inherited from the worker. Blocks like sockets_of().
base::Result<bool> descendants_are_connected(std::span<const pid_t> tree);

}  // namespace robustrun::agent
