#include "tracer/analysis/connections.h"

#include <map>
#include <string_view>
#include <tuple>

#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

// Machines may have equal addresses; loopback ones they all have.
using Ends = std::tuple<std::string_view, std::string_view, std::string_view>;

std::string_view machine_of(const RankSnapshot& rank, const SocketState& socket) {
  const std::string_view local = socket.local;
  const bool is_loopback = local.starts_with("127.") || local.starts_with("[::1]");
  return is_loopback ? std::string_view(rank.node) : std::string_view();
}

}  // namespace

std::vector<Connection> connections_of(const FleetView& view,
                                       const std::vector<std::uint32_t>& ats) {
  std::map<Ends, base::Rank> owners;
  for (const std::uint32_t at : ats) {
    const RankSnapshot& rank = view.rank(at);
    for (const SocketState& socket : rank.evidence.sockets) {
      owners[{machine_of(rank, socket), socket.local, socket.peer}] = rank.rank;
    }
  }
  std::vector<Connection> found;
  for (const std::uint32_t at : ats) {
    const RankSnapshot& rank = view.rank(at);
    for (const SocketState& socket : rank.evidence.sockets) {
      const auto peer = owners.find({machine_of(rank, socket), socket.peer, socket.local});
      if (peer == owners.end() || peer->second == rank.rank) continue;
      found.push_back({{rank.rank, peer->second}, &socket});
    }
  }
  return found;
}

bool is_stuck(const SocketState& socket) {
  if (socket.unacked == 0 || socket.last_received < kFlowStill) return false;
  // Of what its own machine does not let out, TCP does not count that it was sent again.
  return socket.retransmits > 0 || socket.nothing_acked;
}

}  // namespace robustrun::tracer
