#include "supervisor/core/job/facts/workers.h"

#include <fmt/core.h>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Workers::begin_attempt() {
  workers_.assign(group_.plan().world_size(), WorkerState::kAbsent);
  seen_ = 0;
  succeeded_ = 0;
  running_nodes_ = static_cast<std::uint32_t>(group_.size());
  lost_at_end_.reset();
  unkillable_.clear();
  for (const base::NodeId node : group_) {
    nodes_.at(node).gone = false;
    nodes_.at(node).ended = 0;
  }
}

bool Workers::note_seen(base::Rank rank) {
  WorkerState& worker = workers_[rank.value];
  if (worker != WorkerState::kAbsent) return false;
  worker = WorkerState::kAlive;
  ++seen_;
  return true;
}

bool Workers::note_ended(base::Rank rank) {
  note_seen(rank);
  WorkerState& worker = workers_[rank.value];
  if (worker == WorkerState::kEnded) return false;
  worker = WorkerState::kEnded;
  ++nodes_.at(group_.plan().node_of[rank.value]).ended;
  return true;
}

bool Workers::note_gone(base::NodeId node, const WorkersGone& what) {
  if (nodes_.at(node).gone) return false;
  lose(node);
  for (const std::string& process : what.unkillable) {
    if (unkillable_.size() == kEvidenceMax) break;
    unkillable_.push_back(fmt::format("{} on {} cannot be killed", process, nodes_.name(node)));
  }
  return true;
}

void Workers::lose(base::NodeId node) {
  if (nodes_.at(node).gone) return;
  nodes_.at(node).gone = true;
  --running_nodes_;
}

std::uint32_t Workers::alive() const {
  std::uint32_t alive = 0;
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank) {
    const bool is_gone = nodes_.at(group_.plan().node_of[rank]).gone;
    if (workers_[rank] != WorkerState::kEnded && !is_gone) ++alive;
  }
  return alive;
}

}  // namespace robustrun::supervisor
