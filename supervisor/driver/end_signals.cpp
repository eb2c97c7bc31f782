#include "supervisor/driver/end_signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <string>
#include <utility>

#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

std::string host_of(const wire::StopRun& order) {
  return base::printable(order.host.substr(0, HOST_NAME_MAX));
}

}  // namespace

EndSignals::EndSignals(const base::Clock& clock, NodeTable& nodes, SlurmSide& slurm,
                       Signals signals, Hands hands)
    : clock_(clock), nodes_(nodes), slurm_(slurm), signals_(signals), hands_(std::move(hands)) {}

void EndSignals::received(int signal, bool forward_only) {
  if (!forward_only) {
    const bool relayed = was_relayed(signal);
    if (was_passed_on(signal) || relayed) return;
  }
  if (signal == SIGTERM && slurm_.may_signal()) return ask_slurm({});
  SignalReceived received{signal, forward_only};
  if (is_warning(signal)) {
    received.signal = SIGTERM;
    received.by = fmt::format("{} of {}", base::signal_name(signal), signals_.batch.system);
  }
  hands_.on_event(std::move(received), {});
}

bool EndSignals::is_warning(int signal) const {
  return std::ranges::find(signals_.batch.warnings, signal) != signals_.batch.warnings.end();
}

// One of the two was to us, the other to the batch script, which passed it on as SIGTERM.
bool EndSignals::was_passed_on(int signal) {
  if (signals_.batch.system.empty() || (signal != SIGTERM && !is_warning(signal))) return false;
  const base::Nanos now = clock_.now();
  if (batch_at_ && now - *batch_at_ < kPassedOnSignalMax) return true;
  batch_at_ = now;
  return false;
}

// Our first signal was also sent to a worker's parent or an agent, which was faster.
bool EndSignals::was_relayed(int signal) {
  const bool is_first = !std::exchange(was_signalled_, true);
  return is_first && relayed_ == signal && clock_.now() - relayed_at_ < kRelayedSignalMax;
}

void EndSignals::on_stop(const wire::StopRun& order) {
  // As read_stop_request() has it (operation_request.h).
  const bool possible =
      order.signal > 0 && order.signal < NSIG && order.signal != SIGKILL &&
      order.signal != SIGSTOP &&
      (!order.grace || (*order.grace >= base::Nanos{} && *order.grace <= kStopGraceMax));
  if (!possible || hands_.is_over()) return;
  SignalReceived stop{order.signal, false, order.grace, "robustrun stop on " + host_of(order)};
  hands_.on_event(std::move(stop), {});
}

// As that signal to us. All ranks may do so at once.
void EndSignals::on_report(base::NodeId node, const wire::StopRun& order) {
  // The agent of this machine need not stop the workers by itself.
  if (!nodes_.keeps_orders()) nodes_.send(node, order);
  // Slurm's SIGTERM to the job that brought this node: its agent reports that it leaves.
  const bool ends_alone = order.signal == SIGTERM && hands_.ends_alone(node);
  if (hands_.is_ending() || ends_alone ||
      std::ranges::find(signals_.end, order.signal) == signals_.end.end()) {
    return;
  }
  if (order.signal == SIGTERM && slurm_.may_signal()) return ask_slurm(node);
  relayed_ = order.signal;
  relayed_at_ = clock_.now();
  const std::string by = base::signal_name(order.signal) + " from " + host_of(order);
  hands_.on_event(SignalReceived{order.signal, false, {}, by}, {});
}

void EndSignals::on_report(base::NodeId node, wire::NodeEnding& ending) {
  const bool is_of_slurm = ending.signal == 0;
  const bool ends_alone = hands_.ends_alone(node);
  if (is_of_slurm && ends_alone) ending.signal = SIGTERM;
  hands_.on_event(std::move(ending), node);
  if (!is_of_slurm || ends_alone || !slurm_.may_signal()) return;
  const bool is_repeat = repeating_.erase({node, nodes_[node].generation}) != 0;
  if (!is_repeat) ask_slurm(node);
}

void EndSignals::on_connected_again(base::NodeId node) {
  if (hands_.is_node_ending(node)) repeating_.emplace(node, nodes_[node].generation);
}

// Slurm signals all nodes and the batch script at once. What they report comes one by one, perhaps
// after its answer.
void EndSignals::ask_slurm(std::optional<base::NodeId> signalled) {
  const base::Nanos now = clock_.now();
  const bool is_recent = !told_by_.empty() && now - told_at_ < kRelayedSignalMax;
  if (is_recent && told_by_.insert(signalled).second) return;
  told_by_ = {signalled};
  told_at_ = now;
  slurm_.signalled();
}

}  // namespace robustrun::supervisor
