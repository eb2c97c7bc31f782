#pragma once
// The nodes of a run as the driver knows them, by NodeId: names and links to their agents. It grows
// when nodes join whose agents the user started (volunteers, core/types/job_spec.h).
//
// Bookkeeping, owned by the driver, on its loop. All parts of the driver share it.

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
  // Only of nodes that it has().
  [[nodiscard]] NodeLink& operator[](base::NodeId node) { return links_[node.value]; }
  [[nodiscard]] const NodeLink& operator[](base::NodeId node) const { return links_[node.value]; }
  [[nodiscard]] const std::string& name(base::NodeId node) const { return names_[node.value]; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The newest node of that name.
  [[nodiscard]] std::optional<base::NodeId> find(std::string_view name) const;
  // The rank of a worker of the current attempt; nullopt: there is no such worker.
  [[nodiscard]] std::optional<base::Rank> rank_of(base::NodeId node,
                                                  base::LocalRank local_rank) const;

  // The addresses from which workers connect to other nodes, of all nodes that have joined and are
  // not lost. Empty if those of one node are unknown, or if there are more than kStoreClientsMax.
  [[nodiscard]] std::vector<std::string> addresses() const;

  base::NodeId add(std::string name);
  // A node that a journal knows; nodes before it that are missing are made, without a name.
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

  // Agents are on other machines and may reconnect: orders of an attempt are kept for that.
  void keep_orders() { keeps_orders_ = true; }
  [[nodiscard]] bool keeps_orders() const { return keeps_orders_; }
  // Without a channel the message is dropped on purpose. Either the node's agent is lost, and the
  // core will learn so; or the agent reconnects, and the orders that were kept are sent again.
  void send(base::NodeId node, const wire::Message& message);
  // Sends an order of an attempt, and keeps it to be repeated.
  void order(base::NodeId node, const wire::Message& message);
  // The orders that were kept, to an agent that is connected again.
  void repeat_orders(base::NodeId node, base::Nanos now);
  // To all nodes with workers.
  void send_to_group(const wire::Message& message);

  // No more is read from the node's agent until resume(). It cannot be called silent meanwhile.
  void pause(base::NodeId node);
  void resume(base::NodeId node, base::Nanos now);

 private:
  std::vector<NodeLink> links_;
  std::vector<std::string> names_;
  bool keeps_orders_ = false;
};

}  // namespace robustrun::supervisor
