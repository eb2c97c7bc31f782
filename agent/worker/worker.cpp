#include "agent/worker/worker.h"

#include <signal.h>
#include <unistd.h>
#include <csignal>

#include <utility>

#include "agent/evidence/process_look.h"
#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/node/worker_file.h"
#include "agent/process/processes.h"
#include "agent/spawn/worker_spawn.h"
#include "agent/spawn/worker_words.h"
#include "agent/worker/error_file.h"
#include "base/core/text.h"
#include "base/io/log.h"
#include "tracer/collectives_reader.h"

namespace robustrun::agent {
namespace {

void tell_end(tracer::RankSnapshot& snapshot, const tracer::EndMarks& marks, base::Nanos now) {
  if (marks.returned_at) snapshot.returned = std::max(now - *marks.returned_at, base::Nanos{});
  if (marks.finished_at) snapshot.finished = std::max(now - *marks.finished_at, base::Nanos{});
}

}  // namespace

Worker::Worker(NodeContext& node, const Plan& plan, GoneHandler on_gone)
    : node_(node),
      attempt_(plan.start.attempt),
      ordered_by_(plan.start.ordered_by),
      slot_(plan.slot),
      paths_(worker_paths(plan.paths.directory, plan.slot.local_rank)),
      on_gone_(std::move(on_gone)),
      last_look_(node.executor) {}

Worker::~Worker() {
  if (!last_words_.empty()) remove_last_words(last_words_);
}

void Worker::kill() {
  if (!stopped_at_) stopped_at_ = node_.clock.now();
  if (!tree_gone_) shim_->kill_tree();
}

void Worker::set_congested(bool congested) {
  for (auto& pump : {out_.get(), err_.get()}) {
    if (pump != nullptr) pump->set_congested(congested);
  }
}

ControlSocket::GiveMemory Worker::memory_for(const Plan& plan) const {
  if (plan.copies == nullptr) return {};
  return [tier = plan.copies, rank = slot_.rank](std::uint64_t bytes, MemoryTier::Answer answer) {
    tier->give(rank, bytes, std::move(answer));
  };
}

void Worker::on_format(const std::string& project) {
  if (!node_.line_formats.insert(project).second) return;
  RR_LOG(kInfo, ({.rank = slot_.rank}), "--line-metrics: reading {}'s numbers", project);
}

base::Status Worker::open_channels(const Plan& plan) {
  files_ = worker_files(node_, slot_.rank, attempt_, paths_.error_file, plan.ras_address);
  // Megatron-LM prints on the last rank, all others on the first.
  const bool is_last = slot_.rank.value + 1 == plan.start.world_size;
  if (slot_.rank == base::Rank{0} || is_last) {
    line_metrics_ = line_metrics_of(node_.workers, std::bind_front(&Worker::on_format, this));
  }
  if (node_.workers.python_path.empty()) return {};
  record_ = RR_TRY(tracer::RecordFile::create(files_.record, slot_.rank, attempt_));
  record_path_ = files_.record;
  socket_ = RR_TRY(ControlSocket::open(
      node_.executor, files_.socket,
      {node_.workers.run_id, slot_.rank, attempt_, wire::StopReason::kNone, base::Nanos{}},
      [this](wire::CheckpointNote note) {
        note.local_rank = slot_.local_rank;
        checkpoints_.take(std::move(note));
      },
      memory_for(plan), plan.await_saves, node_.leave_store));
  if (!node_.workers.trace) return {};
  if (chooses_events(node_.workers)) {
    events_.emplace(*record_, is_sampled(slot_.rank, plan.start.world_size));
  }
  last_words_ = worker_stem(node_, slot_.rank, attempt_) + ".flight";
  collectives_.emplace(node_, CollectiveWatch::Subject{attempt_, slot_.local_rank}, *record_,
                       FlightSource::make(node_, files_.flight, slot_.rank, last_words_));
  return {};
}

// At the first restart. The worker of the first attempt left the names of its trackers' runs
// (python/robustrun/_progress/tracker_runs.py).
void Worker::suggest_trackers() const {
  if (attempt_ != base::Attempt{1} || node_.workers.compat) return;
  const std::string path = worker_stem(node_, slot_.rank, base::Attempt{0}) + ".trackers";
  const auto runs = read_worker_file(path, kTrackerRunsBytesMax);
  if (!runs) return;
  ::unlink(path.c_str());
  for (const std::string_view run : base::split(base::trim(*runs), '\n')) {
    RR_LOG(kInfo, ({.rank = slot_.rank}), "{} will be split in two: --trackers=resume continues it",
           base::printable(run));
  }
}

base::Result<WorkerStream> Worker::open_stream(const Plan& plan, bool is_stderr, base::Fd source) {
  WorkerStreamPlan wanted{slot_, plan.paths, paths_, is_stderr, {}, std::move(source)};
  wanted.on_bytes = feeder(line_metrics_, is_stderr);
  wanted.on_finished = [this] {
    --pumps_running_;
    finish_if_gone();
  };
  WorkerStream stream = RR_TRY(open_worker_stream(node_, std::move(wanted)));
  if (stream.pump) ++pumps_running_;
  (is_stderr ? err_ : out_) = std::move(stream.pump);
  return stream;
}

base::Result<LaunchSpec> Worker::make_spawn(const Plan& plan) const {
  PlannedSpawn planned = RR_TRY(
      plan_spawn(node_, {plan.start, slot_, files_, plan.cpus, plan.memory, plan.usable_cpus}));
  if (slot_.local_rank.value == 0 && attempt_.value == 0) {
    for (const std::string& notice : planned.notices) {
      // torchrun warns about what it sets; in native mode it is a documented default.
      base::log_line(node_.workers.compat ? base::LogLevel::kWarn : base::LogLevel::kDebug, {},
                     notice);
    }
  }
  return std::move(planned.spawn);
}

base::Status Worker::launch(const Plan& plan) {
  RR_TRY(open_channels(plan));
  suggest_trackers();
  const LaunchSpec spawn = RR_TRY(make_spawn(plan));
  auto place = plan.standbys.take(slot_, spawn, files_.modules);
  if (place.standby) return start_warm(plan, *std::move(place.standby));
  cold_ = std::move(place.cold);
  return start_fresh(plan, spawn);
}

base::Status Worker::start_fresh(const Plan& plan, const LaunchSpec& spawn) {
  plan.hot_files.ask(files_.touched);
  const WorkerStream out = RR_TRY(open_stream(plan, false, {}));
  const WorkerStream err = RR_TRY(open_stream(plan, true, {}));
  cgroup_ = Cgroup::make(node_.workers.run_id, slot_.rank, attempt_);
  oom_ = OomWatch::begin(cgroup_ ? cgroup_->path() : std::string());

  ShimOptions options = shim_options(node_, spawn);
  options.out_fd = out.fd;
  options.err_fd = err.fd;
  if (cgroup_) options.cgroup = cgroup_->path();
  shim_ = RR_TRY(start_process(node_, options, shim_handlers()));
  return {};
}

// It has what a fresh worker would have; only its streams and its process are taken over here.
base::Status Worker::start_warm(const Plan& plan, Standby::Taken standby) {
  standby_socket_ = std::move(standby.socket);
  cgroup_ = std::move(standby.cgroup);
  oom_ = OomWatch::begin(cgroup_ ? cgroup_->path() : std::string());
  RR_TRY(open_stream(plan, false, std::move(standby.out)));
  RR_TRY(open_stream(plan, true, std::move(standby.err)));
  shim_ = std::move(standby.shim);
  shim_->set_handlers(shim_handlers());
  started(standby.pid, true);
  return {};
}

void Worker::started(pid_t pid, bool warm) {
  pid_ = pid;
  node_.send(wire::WorkerStarted{attempt_, slot_.local_rank, pid, node_.clock.now(), warm,
                                 ordered_by_, cold_});
}

ShimLink::Handlers Worker::shim_handlers() {
  ShimLink::Handlers handlers;
  handlers.on_started = [this](pid_t pid) { started(pid, false); };
  handlers.on_start_failed = [this](int os_errno, const std::string& what) {
    node_.send(wire::WorkerStartFailed{attempt_, slot_.local_rank, os_errno, what});
  };
  handlers.on_exited = [this](base::ExitStatus status, base::Nanos at, bool shim_lost) {
    on_exited(status, at, shim_lost);
  };
  handlers.on_notice = [this](const std::string& what) {
    RR_LOG(kWarn, ({.rank = slot_.rank}), "{}", what);
  };
  // Under torchrun a worker's parent is the launcher.
  handlers.on_signalled = [this](int signal) {
    node_.send(wire::StopRun{signal, {}, "rank " + std::to_string(slot_.rank.value)});
  };
  handlers.on_gone = std::bind_front(&Worker::on_tree_gone, this);
  return handlers;
}

void Worker::stop(const wire::StopWorkers& order) {
  if (exited_) return;
  const base::Nanos now = node_.clock.now();
  if (!stopped_at_) stopped_at_ = now;
  if (record_) {
    // A worker that broke its record is stopped nevertheless.
    static_cast<void>(
        record_->announce_stop(static_cast<std::uint8_t>(order.reason), now + order.grace));
  }
  if (socket_) socket_->set_stop(order.reason, now + order.grace);
  if (order.save_first && socket_ && socket_->saves_on_stop()) return;  // it ends by itself
  last_look_.then([this, signal = order.signal] {
    if (exited_) return;
    shim_->signal_group(signal);
    shim_->signal_group(SIGCONT);  // a stopped worker would not handle the signal
  });
}

void Worker::report(std::vector<wire::CheckpointNote> notes) {
  if (!node_.workers.checkpoints) return;
  for (wire::CheckpointNote& note : notes) node_.send(std::move(note));
}

bool Worker::report_progress() {
  if (shim_) shim_->keep_going();
  if (exited_) return false;
  if (!record_) {
    // Without the boot module, what the worker prints is all there is.
    const bool repeats =
        std::exchange(tells_again_, false) && line_metrics_ && line_metrics_->lines_read() > 0;
    const bool has_printed = line_metrics_ && line_metrics_->has_news();
    if (has_printed || repeats) {
      node_.send(with_lines(line_metrics_, progress_of(attempt_, slot_.local_rank, {})));
    }
    return false;
  }
  report(checkpoints_.due(node_.clock.now()));
  auto news = record_->read_news();
  if (!news) newest_.reset();  // not readable just now
  if (news && *news) {
    node_.stages.take(slot_.local_rank, moments_of(launched_at_, **news));
    newest_ = **std::move(news);
  }
  if (collectives_) collectives_->look(newest_ ? newest_->steps : 0);
  const bool has_lines = line_metrics_ && line_metrics_->has_news();
  const bool is_known = reported_ && *reported_ == *newest_ && !tells_again_;
  if (!newest_ || (is_known && !has_lines)) return false;
  if (newest_->worker_pid == 0 && !has_lines) return false;  // it has not begun
  const bool stepped = !reported_ || reported_->steps != newest_->steps;
  reported_ = newest_;
  tells_again_ = false;
  node_.send(with_lines(line_metrics_, progress_of(attempt_, slot_.local_rank, *reported_)));
  return stepped;
}

void Worker::tell_again() {
  tells_again_ = true;
  if (collectives_ && !exited_) collectives_->tell_again();
}

tracer::RankSnapshot Worker::describe() const {
  tracer::RankSnapshot snapshot;
  snapshot.rank = slot_.rank;
  snapshot.local_rank = slot_.local_rank;
  snapshot.pid = pid_;
  if (exited_) {
    snapshot.life = tracer::Life::kDead;
    snapshot.end = end_;
    snapshot.ended_well = ended_well_;
  } else if (pid_ != 0) {
    const bool is_stopped = signal_state(pid_, SIGCONT).is_stopped;
    snapshot.life = is_stopped ? tracer::Life::kStopped : tracer::Life::kRunning;
    if (record_) tell_end(snapshot, record_->read_end(), node_.clock.now());
    if (record_) snapshot.evidence.data_wait = data_wait_of(record_->read_data());
  }
  if (reported_) {
    snapshot.steps = reported_->steps;
    if (reported_->last_step_at) snapshot.step_age = node_.clock.now() - *reported_->last_step_at;
  }
  return snapshot;
}

Suspect Worker::as_suspect() {
  Suspect suspect;
  suspect.pid = pid_;
  if (cgroup_) suspect.cgroup = cgroup_->path();
  suspect.stack_file = files_.stacks;
  suspect.stack_signal = static_cast<int>(node_.workers.stack_signal);
  suspect.signal = [this](int signal) { signal_itself(signal); };
  suspect.gpus = devices_of(node_.workers, slot_.local_rank);
  return suspect;
}

void Worker::observe(const wire::Observe& question, std::uint32_t workers) {
  WorkerSnapshot::Plan plan;
  plan.describe = [this] { return describe(); };
  if (question.use_of) return observe_use(question, std::move(plan));
  if (collectives_) plan.watch = &*collectives_;
  if (question.evidence && !exited_ && pid_ != 0) plan.suspect = as_suspect();
  plan.within = question.within;
  if (!question.evidence) last_look_.begin();
  snapshot_ = WorkerSnapshot::take(
      node_, std::move(plan), [this, number = question.number, workers](std::string snapshot) {
        node_.send(
            wire::Observed{number, attempt_, slot_.local_rank, workers, std::move(snapshot)});
        last_look_.end();
      });
}

// Beside a look at a suspect, which it must not end.
void Worker::observe_use(const wire::Observe& question, WorkerSnapshot::Plan plan) {
  if (!exited_ && pid_ != 0) {
    plan.suspect = as_suspect();
    plan.suspect->only_use = true;
  }
  plan.within = question.within;
  use_ = WorkerSnapshot::take(
      node_, std::move(plan), [this, number = question.number](std::string snapshot) {
        node_.send(wire::Observed{number, attempt_, slot_.local_rank, 1, std::move(snapshot)});
      });
}

bool Worker::uses_nccl() const {
  const auto table = record_ ? record_->read_communicators() : std::string();
  return table && tracer::has_nccl(*table);
}

// The OOM killer that ended it or, as its last output says, a process that it had started.
wire::OomKiller Worker::oom_killer_of(base::ExitStatus status, const wire::WorkerExited& report) {
  if (status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL, false}) {
    return oom_->killed({pid_});
  }
  std::string words = base::join(report.stderr_tail, "\n");
  if (report.error_file) words += "\n" + report.error_file->message;
  const auto children = killed_children(words);
  return children ? oom_->killed(*children) : wire::OomKiller::kNo;
}

void Worker::on_exited(base::ExitStatus status, base::Nanos at, bool shim_lost) {
  for (auto& pump : {out_.get(), err_.get()}) {
    if (pump != nullptr) pump->drain();
  }
  report_progress();  // with the numbers in its last lines
  report(checkpoints_.rest());
  exited_ = true;
  end_ = base::describe(status);
  wire::WorkerExited report;
  report.attempt = attempt_;
  report.local_rank = slot_.local_rank;
  report.pid = pid_;
  report.end = {status.kind, status.code, status.core_dumped};
  report.at = at;
  report.stopped_by_us = stopped_at_ && at >= *stopped_at_;
  report.shim_lost = shim_lost;
  ended_well_ = status.success();
  if (!status.success()) {
    const bool is_from_outside = status.kind == base::ExitStatus::Kind::kSignaled &&
                                 (status.code == SIGTERM || status.code == SIGKILL ||
                                  status.code == SIGINT || status.code == SIGHUP);
    gone_.has_failed_early =
        !report.stopped_by_us && !is_from_outside && (!reported_ || reported_->steps == 0);
    // torchrun does not check whether the script had ended.
    if (record_ && !node_.workers.compat) {
      report.script_end = record_->read_end().script_end();
      // As WorkerExited::ended_well() of the supervisor: a crash after the end destroys nothing.
      ended_well_ = status.kind == base::ExitStatus::Kind::kSignaled && !shim_lost &&
                    report.script_end == base::ScriptEnd::kFinished;
    }
    report.error_file = read_error_file(paths_.error_file);
    if (err_) report.stderr_tail = err_->tail();
    if (!report.stopped_by_us) report.oom = oom_killer_of(status, report);
  }
  for (auto& pump : {out_.get(), err_.get()}) {
    if (pump != nullptr) report.dropped_bytes += pump->dropped_bytes();
  }
  node_.send(report);
}

void Worker::on_tree_gone(unsigned killed, const std::string& unkillable) {
  tree_gone_ = true;
  gone_.descendants_killed = killed;
  gone_.unkillable = unkillable;
  for (auto& pump : {out_.get(), err_.get()}) {
    if (pump != nullptr) pump->drain();  // a failed start has no exit
  }
  socket_.reset();
  if (record_) record_->unlink();
  for (const std::string& left : {files_.stacks, files_.flight, files_.modules}) {
    if (!left.empty()) ::unlink(left.c_str());
  }
  if (cgroup_) cgroup_->remove();
  finish_if_gone();
}

void Worker::finish_if_gone() {
  gone_.local_rank = slot_.local_rank;
  if (gone() && on_gone_) std::exchange(on_gone_, nullptr)(gone_);
}

base::Result<std::unique_ptr<Worker>> Worker::start(NodeContext& node, const Plan& plan,
                                                    GoneHandler on_gone) {
  std::unique_ptr<Worker> worker(new Worker(node, plan, std::move(on_gone)));
  RR_TRY(worker->launch(plan));
  return worker;
}

}  // namespace robustrun::agent
