// In place of another supervisor: what its agents and orders were is known from the journal.

#include <unistd.h>

#include <utility>

#include "base/io/log.h"
#include "supervisor/control/file.h"
#include "supervisor/driver/impl.h"

namespace robustrun::supervisor {

void Driver::Impl::resume(Folded folded) {
  open_console();
  job_ = std::move(folded.job);
  status_ = std::move(folded.status);
  save_times_ = folded.saves;
  taken_over_since_ = folded.started;
  for (const JournalEntry& entry : folded.unwritten) journal(entry);
  SupervisorResumed resumed;
  resumed.incarnation = job_.incarnation() + 1;
  resumed.host = this_host();
  resumed.pid = ::getpid();
  resumed.wall_time = parts_.clock.wall_time();
  resumed.away = parts_.clock.now() - folded.last;
  if (agent_listener_) {
    for (const NodeStatus& node : status_.status(parts_.clock.now()).nodes) {
      if (!node.address.empty()) agent_listener_->expect(node.address);
    }
  }
  dispatch(std::move(resumed));
  if (!finished_) attend(folded.run.wall_time);
}

// One that had joined is expected to call, within the time that a silent one has.
void Driver::Impl::perform(const AdoptNode& action) {
  nodes_.adopt(action.node, action.name);
  NodeLink& link = nodes_[action.node];
  link.generation = action.generation;
  link.heard_at = parts_.clock.now();
  link.lost = action.agent == AdoptNode::Agent::kLost;
  link.joined = action.agent == AdoptNode::Agent::kJoined;
  if (!link.joined) return;
  if (!agent_listener_) return lose(action.node, "it ended with its supervisor", true);
  const LeaseTimes& lease = request_.network.lease;
  link.broken_at = link.heard_at + lease.lost_after - lease.suspect_after;
  link.broken_why = "its supervisor was gone";
  link.listens = action.listens;
  if (!link.listens.empty()) agent_listener_->call(link.listens);
}

}  // namespace robustrun::supervisor
