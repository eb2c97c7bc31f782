#pragma once
// The nodes of the run: what is known of each, and how many are there. Part of the job's memory.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/job/facts/node_state.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Nodes {
 public:
  explicit Nodes(JobSpec& spec) : spec_(spec) {}

  void add(const NodeSpec& of);  // a node that the spec has
  base::NodeId add_volunteer(const NodeSpec& of);  // adds the node to the spec, too

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] NodeState& operator[](std::size_t i) { return nodes_[i]; }
  [[nodiscard]] const NodeState& operator[](std::size_t i) const { return nodes_[i]; }
  [[nodiscard]] NodeState& at(base::NodeId node) { return nodes_[node.value]; }
  [[nodiscard]] const NodeState& at(base::NodeId node) const { return nodes_[node.value]; }
  [[nodiscard]] auto begin() { return nodes_.begin(); }
  [[nodiscard]] auto end() { return nodes_.end(); }
  [[nodiscard]] auto begin() const { return nodes_.begin(); }
  [[nodiscard]] auto end() const { return nodes_.end(); }
  [[nodiscard]] base::NodeId id_of(const NodeState& node) const {
    return {static_cast<std::uint32_t>(&node - nodes_.data())};
  }
  [[nodiscard]] const std::string& name(base::NodeId node) const {
    return spec_.nodes[node.value].name;
  }
  // Several names: "n[1-16],n20"; a long list is cut: "n1 and 40 more".
  [[nodiscard]] std::string names(const std::vector<base::NodeId>& nodes) const;

  // Only these two functions change `agent`, `unfit` and `leaving` of a node.
  void set_presence(NodeState& node, NodeState::Agent agent, bool unfit);
  void set_leaving(NodeState& node, bool leaving);
  // The number of nodes that are there (NodeState::is_there), and of those that may work and whose
  // agent has been launched but not joined.
  [[nodiscard]] std::uint32_t there() const { return there_; }
  [[nodiscard]] std::uint32_t coming() const { return coming_; }
  // All nodes but those that are there.
  [[nodiscard]] const std::set<base::NodeId>& not_there() const { return not_there_; }

  // The most and the fewest nodes that the group may have.
  [[nodiscard]] std::uint32_t max_wanted() const;
  [[nodiscard]] std::uint32_t min_wanted() const;

  template <class V>
  void fields(V& v) {
    v(7, "nodes", nodes_);
  }

 private:
  void count(const NodeState& node, bool is_new);

  JobSpec& spec_;
  std::vector<NodeState> nodes_;
  // These three follow from `nodes_`:
  std::uint32_t there_ = 0;
  std::uint32_t coming_ = 0;
  std::set<base::NodeId> not_there_;
};

// Drops moments that are more than `within` before `now`, and adds `now`. Returns how many there
// are.
std::size_t count_recent(std::vector<base::Nanos>& moments, base::Nanos within, base::Nanos now);

}  // namespace robustrun::supervisor
