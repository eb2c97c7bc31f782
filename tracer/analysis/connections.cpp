#include "tracer/analysis/connections.h"

#include <map>
#include <string_view>
#include <tuple>

#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

// Machine, local and remote endpoint. All machines share the loopback addresses, so these need the
// machine's name.
using Ends = std::tuple<std::string_view, std::string_view, std::string_view>;

std::string_view machine_of(const RankSnapshot& rank, const SocketState& socket) {
  const std::string_view local = socket.local;
  const bool is_loopback = local.starts_with("127.") || local.starts_with("[::1]");
  return is_loopback ? std::string_view(rank.node) : std::string_view();
}

}  // namespace

std::vector<Connection> connections_of(const FleetView& view,
                                       const std::vector<std::uint32_t>& ats) {
  struct Owner {
    base::Rank rank;
    const SocketState* socket = nullptr;
  };
  std::map<Ends, Owner> owners;
  for (const std::uint32_t at : ats) {
    const RankSnapshot& rank = view.rank(at);
    for (const SocketState& socket : rank.evidence.sockets) {
      owners[{machine_of(rank, socket), socket.local, socket.peer}] = {rank.rank, &socket};
    }
  }
  std::vector<Connection> found;
  for (const std::uint32_t at : ats) {
    const RankSnapshot& rank = view.rank(at);
    for (const SocketState& socket : rank.evidence.sockets) {
      const auto peer = owners.find({machine_of(rank, socket), socket.peer, socket.local});
      if (peer == owners.end() || peer->second.rank == rank.rank) continue;
      found.push_back({{rank.rank, peer->second.rank}, &socket, peer->second.socket});
    }
  }
  return found;
}

bool is_stuck(const Connection& connection) {
  const SocketState& socket = *connection.socket;
  if (socket.send_queue == 0 || socket.last_received < kFlowStill) return false;
  // If a process merely does not read, its kernel still acknowledges what fits into its buffer.
  if (socket.unacked > 0) return socket.retransmits > 0 || socket.nothing_acked;
  // Data that the sender's own machine holds back (a firewall) does not count as unacknowledged.
  return socket.nothing_acked && connection.far->recv_queue == 0;
}

}  // namespace robustrun::tracer
