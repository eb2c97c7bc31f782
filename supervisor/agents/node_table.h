#pragma once
// The nodes of a run as the driver knows them, by NodeId: names and links to their agents. The
// table grows when volunteers join: nodes whose agents the user started.
//
// Owned by the driver, on its loop. All parts of the driver share it.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/agents/node_link.h"
#include "supervisor/core/types/job_spec.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class NodeTable {
 public:
  explicit NodeTable(const std::vector<NodeSpec>& planned);

  [[nodiscard]] std::size_t size() const { return links_.size(); }
  [[nodiscard]] bool has(base::NodeId node) const { return node.value < links_.size(); }
  // Only for nodes for which has() is true.
  [[nodiscard]] NodeLink& operator[](base::NodeId node) { return links_[node.value]; }
  [[nodiscard]] const NodeLink& operator[](base::NodeId node) const { return links_[node.value]; }
  [[nodiscard]] const std::string& name(base::NodeId node) const { return names_[node.value]; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The node of that name that was added last.
  [[nodiscard]] std::optional<base::NodeId> find(std::string_view name) const;
  // The rank of a worker of the current attempt; nullopt: there is no such worker.
  [[nodiscard]] std::optional<base::Rank> rank_of(base::NodeId node,
                                                  base::LocalRank local_rank) const;

  // The addresses from which the workers of all joined and not lost nodes connect to other nodes.
  // Empty if a node's addresses are unknown, or if there are more than kStoreClientsMax in all.
  [[nodiscard]] std::vector<std::string> addresses() const;

  base::NodeId add(std::string name);
  // Names a node that a journal knows. If the table does not reach to this node, it grows by the
  // missing nodes, which have no name.
  void adopt(base::NodeId node, std::string name);

  // Calls `what(NodeId, NodeLink&)` for each node.
  template <class What>
  void each(What&& what) {
    for (std::uint32_t i = 0; i < links_.size(); ++i) what(base::NodeId{i}, links_[i]);
  }
  template <class What>
  void each(What&& what) const {
    for (std::uint32_t i = 0; i < links_.size(); ++i) what(base::NodeId{i}, links_[i]);
  }

  // Agents connect over the network and may reconnect: the orders of an attempt are kept to be
  // repeated.
  void keep_orders() { keeps_orders_ = true; }
  [[nodiscard]] bool keeps_orders() const { return keeps_orders_; }
  // Without a channel the message is dropped on purpose. Either the node's agent is lost, and the
  // core will be told; or the agent reconnects, and the kept orders are sent again.
  void send(base::NodeId node, const wire::Message& message);
  // Sends an order of an attempt, and keeps it to be repeated.
  void order(base::NodeId node, const wire::Message& message);
  // Sends the kept orders to an agent that has reconnected. StopWorkers gets what is left at `now`
  // of its grace period.
  void repeat_orders(base::NodeId node, base::Nanos now);
  // To all nodes with workers.
  void send_to_group(const wire::Message& message);

  // Nothing is read from the node's agent until resume(), and its silence does not count meanwhile.
  void pause(base::NodeId node);
  void resume(base::NodeId node, base::Nanos now);

 private:
  std::vector<NodeLink> links_;
  std::vector<std::string> names_;
  bool keeps_orders_ = false;
};

}  // namespace robustrun::supervisor
