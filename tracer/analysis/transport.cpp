#include "tracer/analysis/transport.h"

#include <algorithm>
#include <tuple>

#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

bool is_plausible(const Flow& f) {
  return f.steps >= f.posted && f.posted >= f.ready && f.ready >= f.transmitted &&
         f.transmitted >= f.done;
}

}  // namespace

const Flow* Transport::other_end(const FlowAt& flow) const {
  const Member* const peer = comm_->find(flow.flow->peer);
  if (peer == nullptr) return nullptr;
  for (const Flow& other : peer->view->flows) {
    const bool is_same = other.channel == flow.flow->channel &&
                         other.is_send != flow.flow->is_send &&
                         other.peer == static_cast<std::int32_t>(flow.member->view->rank);
    if (is_same && is_plausible(other)) return &other;
  }
  return nullptr;
}

Blame Transport::blame(const Member& member) const {
  Blame blame;
  blame.at = member.at;
  blame.comm = wait_->comm;
  blame.ordinal = wait_->ordinal;
  blame.signature = wait_->signature;
  blame.age = wait_->age;
  return blame;
}

std::optional<Transport> stuck_transport(const Case& facts) {
  std::vector<bool> is_seen(facts.view.comms().size(), false);
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (wait.has_edges || is_seen[wait.comm]) continue;
    is_seen[wait.comm] = true;
    Transport transport;
    transport.wait_ = &wait;
    transport.comm_ = &facts.view.comms()[wait.comm];
    transport.is_complete_ = transport.comm_->uncounted == 0;
    bool is_still = true;
    for (const Member& member : transport.comm_->members) {
      transport.is_complete_ &= member.view->tells_flows;
      for (const Flow& flow : member.view->flows) {
        if (!is_plausible(flow) || is_finished(flow)) continue;
        is_still &= flow.unchanged >= kFlowStill;
        transport.flows_.push_back({&member, &flow});
      }
    }
    if (is_still && !transport.flows_.empty()) return transport;
  }
  return std::nullopt;
}

std::vector<FlowAt> stuck_sends(const Transport& transport) {
  std::vector<FlowAt> stuck;
  for (const FlowAt& flow : transport.flows()) {
    if (!flow.flow->is_send || !waits_for_network(*flow.flow)) continue;
    const Flow* const other = transport.other_end(flow);
    const bool is_on_its_way =
        other == nullptr || (waits_for_network(*other) && other->ready < flow.flow->transmitted);
    if (is_on_its_way) stuck.push_back(flow);
  }
  return stuck;
}

Edge edge_of(const Case& facts, const Transport& transport, const FlowAt& flow) {
  const base::Rank own = facts.view.rank(flow.member->at).rank;
  const Member* const peer = transport.comm().find(flow.flow->peer);
  const base::Rank other = peer == nullptr ? own : facts.view.rank(peer->at).rank;
  return flow.flow->is_send ? Edge{own, other} : Edge{other, own};
}

const Wait* wait_of_all(const Case& facts) {
  for (const Wait& wait : facts.graph.waits()) {
    if (!wait.has_edges) return &wait;
  }
  return nullptr;
}

}  // namespace robustrun::tracer
