#pragma once
// The workers of the attempt: which have started and ended, and which nodes still have processes of
// the attempt. Part of the job's memory.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

enum class WorkerState : std::uint8_t { kAbsent, kAlive, kEnded };

class Workers {
 public:
  Workers(Nodes& nodes, const Group& group) : nodes_(nodes), group_(group) {}

  void begin_attempt();
  // These three return false if the news is known already.
  bool note_seen(base::Rank rank);  // the worker has started, or ended
  bool note_ended(base::Rank rank);
  bool note_gone(base::NodeId node, const WorkersGone& what);
  // The node's agent is gone. Its workers count as gone, too: without an agent, their shims kill
  // them.
  void lose(base::NodeId node);
  void note_success() { ++succeeded_; }
  // A worker failed as in is_lost_at_end(). The first such worker decides the exit code.
  void note_lost_at_end(std::int32_t exit_code) {
    if (!lost_at_end_) lost_at_end_ = exit_code;
  }

  [[nodiscard]] bool has_ended(base::Rank rank) const {
    return workers_[rank.value] == WorkerState::kEnded;
  }
  [[nodiscard]] std::uint32_t seen() const { return seen_; }
  [[nodiscard]] std::uint32_t succeeded() const { return succeeded_; }
  // Workers that have not ended, as far as is known.
  [[nodiscard]] std::uint32_t alive() const;
  // Whether some workers of this node have not ended.
  [[nodiscard]] bool are_left_on(base::NodeId node) const {
    return group_.has(node) && nodes_.at(node).ended < group_.plan().slots(node);
  }
  [[nodiscard]] std::uint32_t running_nodes() const { return running_nodes_; }
  [[nodiscard]] bool all_gone() const { return running_nodes_ == 0; }
  [[nodiscard]] const std::optional<std::int32_t>& lost_at_end() const { return lost_at_end_; }
  // Processes that cannot be killed, in words.
  [[nodiscard]] const std::vector<std::string>& unkillable() const { return unkillable_; }

  template <class V>
  void fields(V& v) {
    v(12, "workers", workers_);
    v(13, "seen_workers", seen_);
    v(14, "succeeded_workers", succeeded_);
    v(15, "running_nodes", running_nodes_);
    v(21, "unkillable", unkillable_);
    v(82, "lost_at_end", lost_at_end_);
  }

 private:
  Nodes& nodes_;
  const Group& group_;
  std::vector<WorkerState> workers_;  // by rank
  std::uint32_t seen_ = 0;
  std::uint32_t succeeded_ = 0;
  std::uint32_t running_nodes_ = 0;  // nodes of the group that still have processes of the attempt
  std::optional<std::int32_t> lost_at_end_;
  std::vector<std::string> unkillable_;
};

}  // namespace robustrun::supervisor
