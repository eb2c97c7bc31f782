#pragma once
// The group: the nodes that run the attempt, in their places, with the plan of ranks. Before the
// first attempt it has the nodes that are wanted, as far as they are known. Part of the job's
// memory.

#include <string>
#include <utility>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/job/facts/assign.h"

namespace robustrun::supervisor {

class Group {
 public:
  // Adds a node that is wanted, before the first attempt.
  void want(base::NodeId node) { members_.push_back(node); }
  void form(std::vector<base::NodeId> members, RankPlan plan) {
    members_ = std::move(members);
    is_formed_ = true;
    plan_ = std::move(plan);
  }

  // By group rank.
  [[nodiscard]] const std::vector<base::NodeId>& members() const { return members_; }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] base::NodeId operator[](std::size_t i) const { return members_[i]; }
  [[nodiscard]] base::NodeId front() const { return members_.front(); }
  [[nodiscard]] auto begin() const { return members_.begin(); }
  [[nodiscard]] auto end() const { return members_.end(); }

  [[nodiscard]] bool has(base::NodeId node) const;
  // has() for all of the run's `nodes` nodes, indexed by NodeId.
  [[nodiscard]] std::vector<bool> membership(std::size_t nodes) const;
  // Whether form() has been called: before that, the members are only wanted.
  [[nodiscard]] bool is_formed() const { return is_formed_; }
  [[nodiscard]] const RankPlan& plan() const { return plan_; }
  [[nodiscard]] std::string workers_in_words() const;  // "8 workers on 2 nodes"

  template <class V>
  void fields(V& v) {
    v(8, "group", members_);
    v(27, "group_formed", is_formed_);
  }

 private:
  std::vector<base::NodeId> members_;
  bool is_formed_ = false;
  RankPlan plan_;  // follows from the members and their slots; not part of the digest
};

}  // namespace robustrun::supervisor
