// R4b: all are inside; data has left one rank and does not arrive at another, which is ready for
// it. Without flows (gloo): TCP repeats a segment that is not acknowledged; a process that merely
// does not read would have its kernel acknowledge it.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/edges.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/transport.h"

namespace robustrun::tracer {
namespace {

struct Repeated {
  Edge edge;
  const SocketState* socket = nullptr;
};

bool is_stuck(const SocketState& socket) {
  return socket.retransmits > 0 && socket.unacked > 0 && socket.last_received >= kFlowStill;
}

// Connections of the members with each other, on which a segment is repeated.
std::vector<Repeated> repeated(const Case& facts, const Communicator& comm) {
  std::map<std::string_view, base::Rank> owner;  // of local endpoints
  for (const Member& member : comm.members) {
    const RankSnapshot& rank = facts.view.rank(member.at);
    for (const SocketState& socket : rank.evidence.sockets) owner[socket.local] = rank.rank;
  }
  std::vector<Repeated> found;
  for (const Member& member : comm.members) {
    const RankSnapshot& rank = facts.view.rank(member.at);
    for (const SocketState& socket : rank.evidence.sockets) {
      const auto peer = owner.find(socket.peer);
      if (!is_stuck(socket) || peer == owner.end() || peer->second == rank.rank) continue;
      found.push_back({{rank.rank, peer->second}, &socket});
    }
  }
  return found;
}

}  // namespace

std::optional<Verdict> rule_link_stuck(const Case& facts) {
  const std::optional<Transport> transport = stuck_transport(facts);
  std::vector<Edge> edges;
  std::vector<std::string> lines;
  const Wait* const wait = transport ? &transport->wait() : wait_of_all(facts);
  if (wait == nullptr) return std::nullopt;
  bool is_proved = true;
  if (transport) {
    for (const FlowAt& flow : stuck_sends(*transport)) {
      const Edge edge = edge_of(facts, *transport, flow);
      if (edge.from == edge.to) continue;  // to nobody who is seen
      is_proved &= transport->other_end(flow) != nullptr;
      edges.push_back(edge);
      lines.push_back(fmt::format(
          "rank {} to rank {}, channel {}: {} of {} steps sent, {} arrived, nothing for {}",
          edge.from.value, edge.to.value, flow.flow->channel, flow.flow->transmitted,
          flow.flow->steps, flow.flow->done, duration_text(flow.flow->unchanged)));
    }
  } else {
    is_proved = false;
    for (const Repeated& one : repeated(facts, facts.view.comms()[wait->comm])) {
      edges.push_back(one.edge);
      lines.push_back(
          fmt::format("rank {} to rank {}: {} bytes not acknowledged, sent {} times "
                      "again, last heard of {} ago",
                      one.edge.from.value, one.edge.to.value, one.socket->send_queue,
                      one.socket->retransmits, duration_text(one.socket->last_received)));
    }
  }
  if (edges.empty()) return std::nullopt;
  EdgeBlame blame = blame_edges(facts, Finding::kLinkStuck, *wait, edges);
  if (!is_proved) blame.accusation.verdict.confidence = Confidence::kInferred;
  Verdict& verdict = blame.accusation.verdict;
  verdict.sentence = fmt::format("{} {} stuck in {} for {}", blame.what, blame.is(),
                                 blame.accusation.operation, duration_text(wait->age)) +
                     waiting_text(facts, blame.accusation);
  verdict.evidence.insert(verdict.evidence.begin(), lines.begin(), lines.end());
  return verdict;
}

}  // namespace robustrun::tracer
