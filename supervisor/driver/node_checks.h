#pragma once
// Whether nodes are fit: checks and replays that the core asks for, and the table of `robustrun
// check`.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/group/group_replay.h"
#include "supervisor/group/preflight_check.h"

namespace robustrun::supervisor {

class NodeChecks {
 public:
  struct Plan {
    std::function<void(NodesChecked)> on_checked;
    std::function<void(NodesReplayed)> on_replayed;
    std::vector<std::string> replay_command{};  // --replay-cmd, argv; empty: the alignment test
  };
  // The references outlive this object.
  NodeChecks(const boost::asio::any_io_executor& executor, const base::Clock& clock,
             NodeTable& nodes, Plan plan);
  ~NodeChecks() { drop(); }
  NodeChecks(const NodeChecks&) = delete;
  NodeChecks& operator=(const NodeChecks&) = delete;

  void check(const CheckNodes& action);
  // Ends the replay that is under way, and begins a new one if the action has groups.
  void replay(const ReplayNodes& action, base::Attempt attempt);
  // The table with these verdicts about the check that ended last.
  [[nodiscard]] std::string table(const NodesJudged& judged) const;

  // Every check under way gets every report, and ignores those of other checks.
  void on_report(base::NodeId node, const wire::CheckReady& report);
  void on_report(base::NodeId node, wire::NodeChecked& report);
  void on_report(base::NodeId node, const wire::PeersMeasured& report);
  void on_report(base::NodeId node, const wire::NodeReplayed& report);
  // False: the report is not for a replay.
  bool takes_port(base::NodeId node, const wire::PortReserved& report);
  void on_connected_again(base::NodeId node);
  void on_agent_lost(base::NodeId node, const std::string& why);
  // Ends all checks and replays; nothing is reported any more.
  void drop();

 private:
  using Checks = std::map<std::uint64_t, std::shared_ptr<PreflightCheck>>;
  const boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
  NodeTable& nodes_;
  const Plan plan_;
  Checks checks_;  // under way, by number
  std::shared_ptr<GroupReplay> replay_;  // under way, or null
  NodesChecked newest_;
};

}  // namespace robustrun::supervisor
