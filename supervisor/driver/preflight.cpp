// Whether nodes are fit: checks and replays that the core asks for, and the table of `robustrun
// check`.

#include <utility>

#include "base/io/fd.h"
#include "supervisor/driver/impl.h"
#include "supervisor/group/preflight_table.h"

namespace robustrun::supervisor {

void Driver::Impl::check_nodes(const CheckNodes& action) {
  std::vector<PreflightCheck::Node> nodes;
  for (std::size_t i = 0; i < action.nodes.size(); ++i) {
    const base::NodeId node = action.nodes[i];
    nodes.push_back({node, nodes_[node.value].generation, action.addresses[i]});
  }
  PreflightCheck::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) { send(node, message); };
  hands.on_done = [this](NodesChecked result) { on_checked(std::move(result)); };
  checks_[action.check] = PreflightCheck::start(parts_.executor, parts_.clock, action,
                                                std::move(nodes), std::move(hands), {});
}

void Driver::Impl::on_checked(NodesChecked result) {
  if (const auto over = checks_.extract(result.check); finished_) return;
  if (request_.spec.check_only) newest_check_ = result;
  dispatch(std::move(result));
}

// One at a time: a new one ends what is left of the one before.
void Driver::Impl::replay_nodes(const ReplayNodes& action) {
  if (replay_) std::exchange(replay_, nullptr)->drop();
  if (action.groups.empty()) return;
  GroupReplay::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) { send(node, message); };
  hands.on_done = [this](NodesReplayed result) {
    replay_.reset();
    if (!finished_) dispatch(std::move(result));
  };
  replay_ = GroupReplay::start(parts_.executor, parts_.clock, action,
                               {request_.replay_command, job_.attempt()}, std::move(hands));
}

void Driver::Impl::show_verdicts(const NodesJudged& judged) {
  if (!request_.spec.check_only) return;
  // stdout may be closed; the exit code has the result, too.
  static_cast<void>(
      base::write_all(parts_.out_fd, preflight_table(names_, newest_check_, judged.verdicts)));
}

}  // namespace robustrun::supervisor
