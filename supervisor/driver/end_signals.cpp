#include "supervisor/driver/end_signals.h"

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
                       const std::vector<int>& end_signals, Hands hands)
    : clock_(clock),
      nodes_(nodes),
      slurm_(slurm),
      end_signals_(end_signals),
      hands_(std::move(hands)) {}

void EndSignals::received(int signal, bool forward_only) {
  if (!forward_only && was_relayed(signal)) return;
  if (signal == SIGTERM && slurm_.may_signal()) return slurm_.signalled();
  hands_.on_event(SignalReceived{signal, forward_only}, {});
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
      std::ranges::find(end_signals_, order.signal) == end_signals_.end()) {
    return;
  }
  if (order.signal == SIGTERM && slurm_.may_signal()) return slurm_.signalled();
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
  if (is_of_slurm && !ends_alone && slurm_.may_signal()) slurm_.signalled();
}

}  // namespace robustrun::supervisor
