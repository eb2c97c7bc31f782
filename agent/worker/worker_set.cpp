#include "agent/worker/worker_set.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/copies/limits.h"
#include "agent/copies/memory_tier.h"
#include "agent/evidence/node_ras.h"
#include "agent/node/limits.h"
#include "agent/spawn/attempt_dirs.h"
#include "agent/spawn/numa.h"
#include "agent/spawn/usable_cpus.h"
#include "agent/spawn/worker_spawn.h"
#include "agent/spawn/worker_version.h"
#include "agent/spawn/worker_words.h"
#include "agent/standby/known_imports.h"
#include "agent/standby/planned_standbys.h"
#include "agent/standby/standby_set.h"
#include "agent/trainer_saves/half_written.h"
#include "agent/worker/attempt_end.h"
#include "agent/worker/gpu_release.h"
#include "agent/worker/preparation.h"
#include "agent/worker/saves_gate.h"
#include "agent/worker/stop.h"
#include "agent/worker/worker.h"
#include "base/core/text.h"
#include "base/io/log.h"

namespace robustrun::agent {

namespace asio = boost::asio;

class WorkerSet::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, MemoryTier& copies, BlockPeers& peers, StageFiles& stage)
      : node_(node),
        stop_(node.executor, {[this](const wire::StopWorkers& order) {
                                for (auto& worker : workers_) worker->stop(order);
                              },
                              [this] { kill_workers(); }}),
        preparation_(node, peers, stage, [this] { kill_workers(); }),
        imports_(node),
        standbys_(node, {[this] { finish_if_empty(); },
                         [this](const std::string& list) {
                           imports_.keep(list, order_->group_rank == 0);
                         },
                         [this] { imports_.spoil(); }}),
        gpus_(GpuRelease::start(node)),
        copies_(copies),
        check_pool_(node.executor, 1, 1),
        ras_(node),
        end_(std::make_shared<AttemptEnd>(node, copies)),
        saves_(node.executor, kSavesGateMax) {}

  [[nodiscard]] bool takes(const wire::StartWorkers& order) const {
    return gone_ && !leaving_ && (!order_ || order.is_newer_than(*order_));
  }
  void start(wire::StartWorkers order);
  void stop(const wire::StopWorkers& order);
  void signal(const wire::SignalWorkers& order);
  void keep_standbys(const wire::KeepStandbys& order);
  void kill_all(std::function<void()> done);
  void when_gone(std::function<void()> done);
  void signal_all(int signal);
  void stop_all(int signal, base::Nanos grace);
  void set_congested(bool congested);
  bool report_progress();
  void tell_again();
  void observe(const wire::Observe& question);
  [[nodiscard]] FaultTarget* fault_target(base::Attempt attempt, base::LocalRank local_rank);
  void abandon();

 private:
  [[nodiscard]] AttemptPaths make_paths() const;
  base::Status bind_cpus();
  void send_stages(const std::optional<wire::NodeStages>& stages);
  void choose_events();
  void prepare_standbys();
  void await_standbys();
  void check_and_start();
  void kill_workers();
  [[nodiscard]] HalfWritten::Attempt checkpoints_wanted() const;
  void tell(const HalfWritten::Outcome& checkpoints) const;
  [[nodiscard]] bool is_to_start(base::Attempt attempt) const;
  void start_next();
  [[nodiscard]] std::string why_not_started(const base::Error& error) const;
  void give_up_start(const base::Error& error);
  void on_worker_gone(const Worker::Gone& gone);
  void finish_if_empty();
  void await_saves(std::function<void()> go);
  void end_attempt(std::vector<std::string> shm_removed);
  void report_gone();
  [[nodiscard]] bool empty() const;

  NodeContext& node_;
  WorkerStop stop_;
  Preparation preparation_;
  KnownImports imports_;
  StandbySet standbys_;
  std::unique_ptr<GpuRelease> gpus_;
  MemoryTier& copies_;
  base::BlockingPool check_pool_;
  const std::shared_ptr<HalfWritten> half_written_ = std::make_shared<HalfWritten>();  // on it
  std::optional<wire::StartWorkers> order_;   // the current attempt, or the last one
  AttemptPaths paths_;
  NumaPlan bindings_;
  NodeRas ras_;
  const std::shared_ptr<AttemptEnd> end_;
  SavesGate saves_;
  std::optional<base::Nanos> looked_at_;   // the supervisor's last look
  std::set<std::string> notices_;      // about bindings; logged already
  const unsigned usable_cpus_ = usable_cpus();
  std::size_t next_slot_ = 0;
  bool are_standbys_settled_ = false;  // of order_'s attempt
  std::vector<std::unique_ptr<Worker>> workers_;
  bool stopping_ = false;
  bool gone_ = true;           // nothing of order_'s attempt is left
  bool congested_ = false;
  base::Nanos started_wall_time_{};
  std::optional<base::Nanos> ended_wall_time_;  // of the previous attempt
  wire::WorkersGone summary_;
  std::function<void()> on_empty_;
  std::function<void()> on_gone_;
  bool leaving_ = false;
};

void WorkerSet::Impl::start(wire::StartWorkers order) {
  const bool is_release = order_ && order.is_same_as(*order_) && !order.saving;
  if (!takes(order)) return is_release ? saves_.open() : void();
  order_ = std::move(order);
  workers_.clear();
  next_slot_ = 0;
  stopping_ = gone_ = are_standbys_settled_ = false;
  end_->begin_attempt();
  saves_.begin_attempt(order_->saving);
  summary_ = {};
  summary_.attempt = order_->attempt;
  started_wall_time_ = node_.clock.wall_time();
  looked_at_.reset();
  node_.workers = workers_of(node_, order_->version);
  node_.stages.begin_attempt(order_->attempt, order_->slots.size());
  ras_.begin_attempt();
  paths_ = make_paths();
  standbys_.begin(*order_);
  copies_.keep(order_->slots);
  const auto is_wanted = [self = weak_from_this(), attempt = order_->attempt] {
    const auto set = self.lock();
    return set && set->is_to_start(attempt);
  };
  preparation_.begin_attempt(*order_, is_wanted, [this](const base::Status& prepared) {
    if (!prepared) return give_up_start(prepared.error());
    // Workers that are to list what they read at their start do so only if they start afresh.
    if (!standbys_.may_begin_warm() || preparation_.hot_files().wants_lists()) {
      return await_standbys();
    }
    imports_.find([self = weak_from_this(), attempt = order_->attempt](const std::string& list) {
      const auto set = self.lock();
      if (!set || !set->is_to_start(attempt)) return;
      if (!list.empty() && set->standbys_.may_begin_warm()) {
        begin_warm_workers(set->node_, set->standbys_, *set->order_, list, set->usable_cpus_);
      }
      set->await_standbys();
    });
  });
}

void WorkerSet::Impl::await_standbys() {
  standbys_.when_settled([self = weak_from_this(), attempt = order_->attempt] {
    const auto set = self.lock();
    if (!set || !set->is_to_start(attempt)) return;
    set->are_standbys_settled_ = true;
    set->standbys_.settle_first();
    set->check_and_start();
  });
}

std::string WorkerSet::Impl::why_not_started(const base::Error& error) const {
  rlimit files{RLIM_INFINITY, RLIM_INFINITY};
  static_cast<void>(::getrlimit(RLIMIT_NOFILE, &files));  // never fails for this limit
  return start_failure_words(error, node_.workers, order_->slots, files.rlim_cur);
}

// The attempt starts no worker here.
void WorkerSet::Impl::give_up_start(const base::Error& error) {
  node_.send(wire::WorkerStartFailed{order_->attempt, order_->slots.front().local_rank,
                                     error.os_errno, why_not_started(error)});
  stopping_ = true;
  finish_if_empty();
}

// Program and code may lie on a file system that hangs, so a thread checks them. When it is done,
// the order may have been revoked or replaced.
void WorkerSet::Impl::check_and_start() {
  struct Found {
    base::Status program;
    std::string changed;  // since the standbys were made
    HalfWritten::Outcome checkpoints;
  };
  auto found = std::make_shared<Found>();
  const auto done = [self = weak_from_this(), found, attempt = order_->attempt] {
    auto set = self.lock();
    if (!set) return;
    set->tell(found->checkpoints);  // they have been moved, even if the attempt was revoked
    if (!set->is_to_start(attempt)) return;
    if (!found->changed.empty()) set->standbys_.discard(found->changed + " has changed");
    if (found->program) found->program = set->bind_cpus();
    if (!found->program) return set->give_up_start(found->program.error());
    set->gpus_->when_free([self, attempt] {
      const auto now = self.lock();
      if (now && now->is_to_start(attempt)) now->start_next();
    });
  };
  const auto look = [found, workers = node_.workers, version = order_->version,
                     own = node_.own_command, home = node_.home, stamps = standbys_.stamps(),
                     half_written = half_written_, attempt = checkpoints_wanted()] {
    found->program = check_start(workers, version, own, home);
    found->changed = changed_path(stamps, home);
    if (found->program) found->checkpoints = half_written->before_attempt(attempt);
  };
  const auto submitted = check_pool_.submit(kSingleLane, look, done);
  if (!submitted) asio::post(node_.executor, done);
}

void WorkerSet::Impl::tell(const HalfWritten::Outcome& checkpoints) const {
  for (const std::string& line : checkpoints.lines) RR_LOG(kWarn, {}, "{}", line);
  if (!node_.workers.tell_moved) return;
  for (const wire::CheckpointMoved& moved : checkpoints.moved) node_.send(moved);
}

HalfWritten::Attempt WorkerSet::Impl::checkpoints_wanted() const {
  const bool is_asked_for = !node_.workers.checkpoint_globs.empty();
  return {.number = order_->attempt,
          .globs = is_asked_for ? node_.workers.checkpoint_globs
                                : usual_checkpoint_globs(node_.workers.arguments),
          .directory = node_.workers.working_directory,
          .is_asked_for = is_asked_for,
          .reports = order_->group_rank == 0,
          .now = node_.clock.wall_time(),
          .ended = ended_wall_time_};
}

bool WorkerSet::Impl::is_to_start(base::Attempt attempt) const {
  return !gone_ && !stopping_ && order_->attempt == attempt;
}

AttemptPaths WorkerSet::Impl::make_paths() const {
  std::vector<base::LocalRank> ranks;
  for (const auto& slot : order_->slots) ranks.push_back(slot.local_rank);
  auto paths =
      make_attempt_dirs(node_.workers.log_directory, order_->attempt, ranks, node_.workers.compat);
  if (paths) return *std::move(paths);
  // Training matters more than its log: the console still shows everything.
  RR_LOG(kError, {}, "{}; this attempt has no log files", paths.error().what);
  return {};
}

base::Status WorkerSet::Impl::bind_cpus() {
  bindings_ = {};
  bindings_ = RR_TRY(plan_bindings(node_.workers, order_->slots.size()));
  for (const std::string& notice : bindings_.notices) {
    if (notices_.insert(notice).second) RR_LOG(kInfo, {}, "{}", notice);
  }
  return {};
}

// One worker per turn of the loop, so that starting 64 of them never blocks it for long.
void WorkerSet::Impl::start_next() {
  if (stopping_ || next_slot_ >= order_->slots.size()) return finish_if_empty();
  const wire::WorkerSlot& slot = order_->slots[next_slot_++];
  Worker::Plan plan{standbys_, preparation_.hot_files(), *order_, slot, paths_, {}, usable_cpus_};
  plan.ras_address = ras_.address();
  plan.copies = &copies_;
  plan.await_saves = std::bind_front(&Impl::await_saves, this);
  const std::size_t local = slot.local_rank.value;
  if (local < bindings_.cpus.size()) plan.cpus = bindings_.cpus[local];
  if (local < bindings_.memory.size()) plan.memory = bindings_.memory[local];
  auto worker = Worker::start(node_, plan, [self = weak_from_this()](const Worker::Gone& gone) {
    if (auto set = self.lock()) set->on_worker_gone(gone);
  });
  if (worker) {
    workers_.push_back(*std::move(worker));
    workers_.back()->set_congested(congested_);
  } else {
    node_.send(wire::WorkerStartFailed{order_->attempt, slot.local_rank, worker.error().os_errno,
                                       why_not_started(worker.error())});
  }
  asio::post(node_.executor, [self = weak_from_this()] {
    if (auto set = self.lock()) set->start_next();
  });
}

void WorkerSet::Impl::stop(const wire::StopWorkers& order) {
  if (!order_ || order.attempt != order_->attempt) {
    // Nothing of such an attempt is here, which answers the supervisor. But if workers of another
    // order live, one that it does not know, it must not conclude that none do.
    wire::WorkersGone none;
    none.attempt = order.attempt;
    return gone_ ? node_.send(none) : void();
  }
  if (gone_) return report_gone();  // the answer was lost, or the attempt ended by itself
  report_progress();  // a last time: whether there was a step decides about the next standbys
  stopping_ = true;
  standbys_.pause();
  stop_.begin(order);
  const bool goes_on = order.reason == wire::StopReason::kRestart;
  end_->set_goes_on(goes_on && node_.workers.overlap_saves);
  finish_if_empty();
}

void WorkerSet::Impl::kill_workers() {
  for (auto& worker : workers_) worker->kill();
  if (!empty()) preparation_.image().workers_killed();
}

void WorkerSet::Impl::signal(const wire::SignalWorkers& order) {
  if (!order_ || order.attempt != order_->attempt) return;
  signal_all(order.signal);
}

void WorkerSet::Impl::signal_all(int signal) {
  for (auto& worker : workers_) worker->signal(signal);
}

void WorkerSet::Impl::keep_standbys(const wire::KeepStandbys& order) {
  if (!gone_ || leaving_) return;  // it has workers again, or never will
  preparation_.begin_standbys([self = weak_from_this(), order](const base::Status& prepared) {
    const auto set = self.lock();
    if (!set || !set->gone_ || set->leaving_) return;
    if (prepared) return keep_spare_standbys(set->node_, set->standbys_, order, set->usable_cpus_);
    RR_LOG(kWarn, {}, "no standby workers: {}", prepared.error().what);
  });
}

void WorkerSet::Impl::kill_all(std::function<void()> done) {
  on_empty_ = std::move(done);
  stopping_ = leaving_ = true;
  kill_workers();
  standbys_.end();
  finish_if_empty();
}

void WorkerSet::Impl::when_gone(std::function<void()> done) {
  if (gone_) return asio::post(node_.executor, std::move(done));
  on_gone_ = std::move(done);
}

void WorkerSet::Impl::stop_all(int signal, base::Nanos grace) {
  if (gone_ || stopping_) return;
  stop({order_->attempt, signal, grace, wire::StopReason::kPreempt, false});
}

void WorkerSet::Impl::on_worker_gone(const Worker::Gone& gone) {
  summary_.descendants_killed += gone.descendants_killed;
  if (!gone.unkillable.empty()) summary_.unkillable.push_back(gone.unkillable);
  if (gone.has_failed_early) standbys_.worker_failed_early(gone.local_rank);
  finish_if_empty();
}

bool WorkerSet::Impl::empty() const {
  if (!order_) return true;
  if (!stopping_ && next_slot_ < order_->slots.size()) return false;
  for (const auto& worker : workers_) {
    if (!worker->gone()) return false;
  }
  return true;
}

void WorkerSet::Impl::finish_if_empty() {
  if (!empty()) return;
  stop_.cancel();
  preparation_.image().workers_gone();
  if (!gone_ && !end_->has_begun()) {
    preparation_.end_attempt();
    send_stages(node_.stages.end_attempt());
    end_->begin(
        order_->attempt, started_wall_time_,
        {std::bind_front(&Impl::end_attempt, this), std::bind_front(&Impl::finish_if_empty, this)});
  } else if (gone_ && !end_->is_waited_for() && on_empty_ && standbys_.empty()) {
    preparation_.end(std::exchange(on_empty_, nullptr));
  }
}

void WorkerSet::Impl::end_attempt(std::vector<std::string> shm_removed) {
  gone_ = true;
  ended_wall_time_ = node_.clock.wall_time();
  if (!on_empty_) gpus_->workers_gone(order_->slots.size());
  summary_.shm_removed = std::move(shm_removed);
  // The workers' last progress and output were sent before; the objects go with the next start.
  report_gone();
  if (on_gone_) asio::post(node_.executor, std::exchange(on_gone_, nullptr));
  finish_if_empty();
}

void WorkerSet::Impl::report_gone() {
  summary_.saving = end_->is_saving();
  node_.send(summary_);
}

// Copies may still be saved here that an older supervisor does not know of.
void WorkerSet::Impl::await_saves(std::function<void()> go) {
  saves_.when_open([this, go = std::move(go)] { copies_.after_saving(go); });
}

void WorkerSet::Impl::set_congested(bool congested) {
  congested_ = congested;
  for (auto& worker : workers_) worker->set_congested(congested);
}

bool WorkerSet::Impl::report_progress() {
  bool progress = false;
  for (auto& worker : workers_) progress = worker->report_progress() || progress;
  if (node_.stages.all_stepped()) preparation_.image().settled();
  send_stages(node_.stages.due());
  if (const auto news = node_.stages.news(); news && node_.workers.stages) node_.send(*news);
  choose_events();
  preparation_.hot_files().look();
  prepare_standbys();
  return progress;
}

void WorkerSet::Impl::tell_again() {
  for (auto& worker : workers_) worker->tell_again();
}

void WorkerSet::Impl::send_stages(const std::optional<wire::NodeStages>& stages) {
  if (stages && node_.workers.stages) node_.send(*stages);
}

void WorkerSet::Impl::prepare_standbys() {
  // One that begins to import between the end of the wait for standbys and its worker's start would
  // be of no use.
  const bool is_starting = are_standbys_settled_ && next_slot_ < order_->slots.size();
  if (!gone_ && (stopping_ || is_starting)) return;
  for (auto& worker : workers_) standbys_.look(worker->local_rank(), *worker, worker->reading());
  standbys_.prepare();
}

// Traces in full while something is suspected: a worker here is overdue, or the supervisor has
// looked.
void WorkerSet::Impl::choose_events() {
  const bool is_looked_at = looked_at_ && node_.clock.now() - *looked_at_ < kInFullAfterLook;
  const bool in_full = is_looked_at || std::ranges::any_of(workers_, [](const auto& worker) {
                         return worker->has_overdue();
                       });
  for (auto& worker : workers_) worker->trace_in_full(in_full);
}

void WorkerSet::Impl::observe(const wire::Observe& question) {
  if (!order_ || order_->attempt != question.attempt) return;
  for (auto& worker : workers_) {
    if (question.use_of && *question.use_of != worker->local_rank()) continue;
    worker->observe(question, static_cast<std::uint32_t>(workers_.size()));
  }
  if (question.use_of) return;
  looked_at_ = node_.clock.now();
  choose_events();
  if (!question.ras) return;
  ras_.ask(question, std::ranges::any_of(workers_, [](const auto& w) { return w->uses_nccl(); }));
}

FaultTarget* WorkerSet::Impl::fault_target(base::Attempt attempt, base::LocalRank local_rank) {
  if (!order_ || order_->attempt != attempt) return nullptr;
  for (auto& worker : workers_) {
    if (worker->local_rank() == local_rank) return worker.get();
  }
  return nullptr;
}

void WorkerSet::Impl::abandon() {
  stop_.cancel();
  ras_.abandon();
  workers_.clear();
}

WorkerSet::WorkerSet(NodeContext& node, MemoryTier& copies, BlockPeers& peers, StageFiles& stage)
    : impl_(std::make_shared<Impl>(node, copies, peers, stage)) {}
WorkerSet::~WorkerSet() { impl_->abandon(); }
bool WorkerSet::takes(const wire::StartWorkers& order) const { return impl_->takes(order); }
void WorkerSet::start(wire::StartWorkers order) { impl_->start(std::move(order)); }
void WorkerSet::stop(const wire::StopWorkers& order) { impl_->stop(order); }
void WorkerSet::signal(const wire::SignalWorkers& order) { impl_->signal(order); }
void WorkerSet::keep_standbys(const wire::KeepStandbys& order) { impl_->keep_standbys(order); }
void WorkerSet::kill_all(std::function<void()> done) { impl_->kill_all(std::move(done)); }
void WorkerSet::when_gone(std::function<void()> done) { impl_->when_gone(std::move(done)); }
void WorkerSet::signal_all(int signal) { impl_->signal_all(signal); }
void WorkerSet::stop_all(int signal, base::Nanos grace) { impl_->stop_all(signal, grace); }
void WorkerSet::set_congested(bool congested) { impl_->set_congested(congested); }
void WorkerSet::tell_again() { impl_->tell_again(); }
bool WorkerSet::report_progress() { return impl_->report_progress(); }
void WorkerSet::observe(const wire::Observe& question) { impl_->observe(question); }
FaultTarget* WorkerSet::fault_target(base::Attempt attempt, base::LocalRank local_rank) {
  return impl_->fault_target(attempt, local_rank);
}

}  // namespace robustrun::agent
