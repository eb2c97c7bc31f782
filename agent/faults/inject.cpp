#include "agent/faults/inject.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "agent/evidence/process_look.h"
#include "agent/faults/disk_filler.h"
#include "agent/node/limits.h"
#include "base/core/words.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using wire::FaultKind;

// Why the worker's interpreter cannot carry the fault out; empty: it can.
std::string no_python_fault(const FaultTarget& target, std::uint32_t stack_signal) {
  if (target.record_path().empty()) {
    return "the script runs without our boot module (--inject=off, or no Python script)";
  }
  if (stack_signal == static_cast<std::uint32_t>(boot_signal())) {
    return "its signal, SIGRTMIN+9, is the one of --stack-signal: choose another one there";
  }
  if (!signal_state(target.pid(), boot_signal()).is_caught) {
    return "the worker has no handler for SIGRTMIN+9: its script has not begun, or took it away";
  }
  return {};
}

}  // namespace

class FaultInjector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, Hooks hooks)
      : node_(node), hooks_(std::move(hooks)), disk_(node.executor, node.pool) {}

  void inject(const wire::Inject& order);
  void close() { timers_.clear(); }

 private:
  FaultTarget* find_target(const wire::Inject& order);
  void signal_worker(const wire::Inject& order, int signal);
  void disturb(const wire::Inject& order);
  void order_in_python(const wire::Inject& order);
  void wait_until_taken(const wire::Inject& order, pid_t pid, const std::string& path,
                        base::Nanos until);
  void fill_disk(const wire::Inject& order);
  void die(const wire::Inject& order);
  void done(const wire::Inject& order, pid_t pid, std::string text) {
    node_.send(wire::Injected{order.id, pid, std::move(text), {}});
  }
  void refuse(const wire::Inject& order, std::string why) {
    node_.send(wire::Injected{order.id, 0, {}, std::move(why)});
  }
  // Calls `then` after `time`, unless this is destroyed before. One timer per order.
  void after(std::uint64_t id, base::Nanos time, std::function<void()> then);

  NodeContext& node_;
  Hooks hooks_;
  DiskFiller disk_;
  std::map<std::uint64_t, asio::steady_timer> timers_;
};

void FaultInjector::Impl::after(std::uint64_t id, base::Nanos time, std::function<void()> then) {
  auto& timer = timers_.try_emplace(id, node_.executor).first->second;
  timer.expires_after(time);
  timer.async_wait([weak = weak_from_this(), id,
                    then = std::move(then)](const boost::system::error_code& error) {
    auto self = error ? nullptr : weak.lock();
    if (!self) return;
    self->timers_.erase(id);
    then();
  });
}

void FaultInjector::Impl::inject(const wire::Inject& order) {
  switch (order.kind) {
    case FaultKind::kKill: return signal_worker(order, SIGKILL);
    case FaultKind::kStop: return signal_worker(order, SIGSTOP);
    case FaultKind::kSegfault: return signal_worker(order, SIGSEGV);
    case FaultKind::kAbort: return signal_worker(order, SIGABRT);
    case FaultKind::kException:
    case FaultKind::kGilLock:
    case FaultKind::kCollectiveSleep:
    case FaultKind::kDataStall: return order_in_python(order);
    case FaultKind::kNetDelay:
    case FaultKind::kNetDrop: return disturb(order);
    case FaultKind::kDiskFull: return fill_disk(order);
    case FaultKind::kAgentDeath: return die(order);
    case FaultKind::kSupervisorDeath: break;
  }
  refuse(order, "this agent does not know this kind of fault");
}

// The order's worker, if it runs; otherwise the order is refused.
FaultTarget* FaultInjector::Impl::find_target(const wire::Inject& order) {
  FaultTarget* const target =
      order.local_rank ? hooks_.target(order.attempt, *order.local_rank) : nullptr;
  if (target != nullptr && target->pid() != 0) return target;
  refuse(order, "the worker is not running");
  return nullptr;
}

void FaultInjector::Impl::signal_worker(const wire::Inject& order, int signal) {
  FaultTarget* const target = find_target(order);
  if (target == nullptr) return;
  const pid_t pid = target->pid();
  const bool ends = signal == SIGSTOP && order.duration > base::Nanos{};
  std::string text = fmt::format("SIG{}", ::sigabbrev_np(signal));
  if (ends) text += fmt::format(" for {}", base::in_seconds(order.duration));
  done(order, pid, std::move(text));
  target->signal_itself(signal);
  if (!ends) return;
  after(order.id, order.duration, [this, order, pid] {
    FaultTarget* const same = hooks_.target(order.attempt, *order.local_rank);
    if (same != nullptr && same->pid() == pid) same->signal_itself(SIGCONT);
  });
}

void FaultInjector::Impl::disturb(const wire::Inject& order) {
  const bool drop = order.kind == FaultKind::kNetDrop;
  const std::string what =
      drop ? "nothing passes"
           : fmt::format("every message is {} late", base::in_seconds(order.delay));
  // Reported first: afterwards the report itself would be held back.
  done(order, 0, fmt::format("{}, for {}", what, base::in_seconds(order.duration)));
  hooks_.disturb(order.kind, order.duration, order.delay);
}

void FaultInjector::Impl::order_in_python(const wire::Inject& order) {
  FaultTarget* const target = find_target(order);
  if (target == nullptr) return;
  const pid_t pid = target->pid();
  const std::string why = no_python_fault(*target, node_.workers.stack_signal);
  if (!why.empty()) return refuse(order, why);
  const std::string path = target->record_path() + ".fault";
  const std::string text = fmt::format(R"({{"version": 1, "kind": "{}", "seconds": {:.3f}}})",
                                       wire::find_fault(order.kind)->name,
                                       std::chrono::duration<double>(order.duration).count());
  if (auto written = base::write_file_atomically(path, text, 0600); !written) {
    return refuse(order, written.error().what);
  }
  target->signal_itself(boot_signal());
  wait_until_taken(order, pid, path, node_.clock.now() + kFaultTakenMax);
}

// The boot module removes the order, or renames it when it cannot carry it out.
void FaultInjector::Impl::wait_until_taken(const wire::Inject& order, pid_t pid,
                                           const std::string& path, base::Nanos until) {
  const wire::FaultRow& row = *wire::find_fault(order.kind);
  const std::string refused = path + ".refused";
  if (::unlink(refused.c_str()) == 0) {
    return refuse(order, order.kind == FaultKind::kDataStall
                             ? "the worker has not imported torch.utils.data"
                             : "the worker has not imported torch.distributed");
  }
  if (::access(path.c_str(), F_OK) != 0) {
    return done(order, pid,
                row.lasts ? fmt::format("{}, for {}", row.help, base::in_seconds(order.duration))
                          : std::string(row.help));
  }
  if (node_.clock.now() >= until) {
    return done(order, pid,
                fmt::format("{}, as soon as its main thread is in Python again", row.help));
  }
  after(order.id, kFaultPoll,
        [this, order, pid, path, until] { wait_until_taken(order, pid, path, until); });
}

void FaultInjector::Impl::fill_disk(const wire::Inject& order) {
  const std::string& folder = node_.workers.log_directory;
  if (folder.empty()) return refuse(order, "this run writes no log files");
  disk_.fill(folder, order.duration,
             [weak = weak_from_this(), order](const base::Result<std::uint64_t>& bytes) {
               auto self = weak.lock();
               if (!self) return;
               if (!bytes) return self->refuse(order, bytes.error().what);
               self->done(order, 0,
                          fmt::format("{} MiB taken in {}, for {}", *bytes >> 20,
                                      self->node_.workers.log_directory,
                                      base::in_seconds(order.duration)));
             });
}

void FaultInjector::Impl::die(const wire::Inject& order) {
  done(order, ::getpid(), "SIGKILL to the agent");
  // At the loop's next turn, with the answer on its way.
  asio::post(node_.executor, [self = shared_from_this()] { self->hooks_.die(); });
}

FaultInjector::FaultInjector(NodeContext& node, Hooks hooks)
    : impl_(std::make_shared<Impl>(node, std::move(hooks))) {}
FaultInjector::~FaultInjector() { impl_->close(); }
void FaultInjector::inject(const wire::Inject& order) { impl_->inject(order); }

}  // namespace robustrun::agent
