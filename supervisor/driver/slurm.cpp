// Slurm's SIGTERM reaches the agents, or us through a batch script, without a reason: Slurm is
// asked for it before the run is ended, so that workers, exit code and report have the reason.

#include <csignal>
#include <utility>

#include "supervisor/driver/impl.h"

namespace robustrun::supervisor {
namespace {

SignalReceived::Cause cause_of(launcher::SlurmNotice::Why why) {
  using enum launcher::SlurmNotice::Why;
  switch (why) {
    // After both the job is to be requeued.
    case kPreempted:
    case kNodeFailed: return SignalReceived::Cause::kPreempted;
    case kTimeLimit: return SignalReceived::Cause::kTimeLimit;
    case kNothing:
    case kCancelled:
    case kRequeued: break;
  }
  return SignalReceived::Cause::kNone;
}

}  // namespace

void Driver::Impl::signal_received(int signal, bool forward_only) {
  if (signal == SIGTERM && parts_.ask_slurm) return signalled_by_slurm();
  dispatch(SignalReceived{signal, forward_only});
}

// Every agent and the batch script report the signal, and again at the end of the grace period:
// only the first report counts, unless Slurm denies that it signalled.
void Driver::Impl::signalled_by_slurm() {
  if (finished_ || std::exchange(slurm_asked_, true)) return;
  parts_.ask_slurm([weak = weak_from_this()](const launcher::SlurmNotice& notice) {
    if (const auto self = weak.lock()) self->on_notice(notice);
  });
}

void Driver::Impl::on_notice(const launcher::SlurmNotice& notice) {
  slurm_asked_ = notice.why != launcher::SlurmNotice::Why::kNothing;
  if (finished_) return;
  SignalReceived received{SIGTERM, false, {}, notice.words};
  received.cause = cause_of(notice.why);
  dispatch(std::move(received));
}

}  // namespace robustrun::supervisor
