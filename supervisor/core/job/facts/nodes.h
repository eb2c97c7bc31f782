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

  void add(const NodeSpec& of);  // of a node of the spec
  base::NodeId add_volunteer(const NodeSpec& of);  // to the spec, too

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
  // The same for several: "n[1-16],n20"; of a long list only the first.
  [[nodiscard]] std::string names(const std::vector<base::NodeId>& nodes) const;

  // Only these change `agent`, `unfit` and `leaving` of a node.
  void set_presence(NodeState& node, NodeState::Agent agent, bool unfit);
  void set_leaving(NodeState& node, bool leaving);
  // Nodes with an agent that may work; and those whose agents are on the way.
  [[nodiscard]] std::uint32_t there() const { return there_; }
  [[nodiscard]] std::uint32_t coming() const { return coming_; }
  // All nodes but those that are there.
  [[nodiscard]] const std::set<base::NodeId>& not_there() const { return not_there_; }

  // How many nodes the group has at most and at least.
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

// Adds the moment `now`; moments older than `within` are dropped. Returns how many are left.
std::size_t count_recent(std::vector<base::Nanos>& moments, base::Nanos within, base::Nanos now);

}  // namespace robustrun::supervisor
