#pragma once
// One worker with its shim, its two captured streams, its progress record, its socket and its
// cgroup.
//
// Owned by the WorkerSet, on the agent's loop. Life: start() → WorkerStarted or WorkerStartFailed
// is sent → after WorkerStarted, WorkerExited is sent as soon as the worker is dead, with its last
// stderr lines → `on_gone`, once all processes of its tree are gone or cannot be killed, and its
// output is written.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/copies/memory_tier.h"
#include "agent/evidence/collective_watch.h"
#include "agent/evidence/event_choice.h"
#include "agent/evidence/last_look.h"
#include "agent/evidence/worker_snapshot.h"
#include "agent/node/fault_target.h"
#include "agent/node/node_context.h"
#include "agent/output/line_metrics.h"
#include "agent/process/cgroup.h"
#include "agent/process/oom.h"
#include "agent/spawn/attempt_dirs.h"
#include "agent/spawn/worker_environment.h"
#include "agent/spawn/worker_stream.h"
#include "agent/staging/hot_files.h"
#include "agent/standby/standby_set.h"
#include "agent/worker/checkpoint_notes.h"
#include "agent/worker/control_socket.h"
#include "base/core/result.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class Worker final : public FaultTarget {
 public:
  struct Plan {
    StandbySet& standbys;  // one of them may become the worker
    HotFiles& hot_files;  // may ask the worker to list the files that it reads
    const wire::StartWorkers& start;
    const wire::WorkerSlot& slot;
    const AttemptPaths& paths;  // log files of the attempt
    std::string cpus;  // processors to bind to; empty: all
    unsigned usable_cpus = 1;  // for all workers of this node together
    std::string memory{};  // as ShimOptions::memory
    MemoryTier* copies = nullptr;  // null: the worker gets no memory for copies of its state
    ControlSocket::AwaitSaves await_saves{};  // waits for copies of earlier workers
    std::string ras_address{};  // for NCCL_RAS_ADDR; empty: the variable is left as it is
  };
  struct Gone {
    unsigned descendants_killed = 0;
    std::string unkillable;  // empty: none
    base::LocalRank local_rank{};
    bool has_failed_early = false;  // failed by itself, before its first step
  };
  using GoneHandler = std::function<void(const Gone&)>;

  // On an error no process runs, and no handler will be called.
  static base::Result<std::unique_ptr<Worker>> start(NodeContext& node, const Plan& plan,
                                                     GoneHandler on_gone);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void signal(int signal) {
    if (!exited_) shim_->signal_group(signal);
  }
  // Tells the worker the reason and the deadline, then signals its process group. Sends no signal
  // if the order lets it save first and it has announced that it then ends by itself.
  void stop(const wire::StopWorkers& order);
  void kill();
  // Reads the progress record and reports changes. True if the worker has begun or made a step
  // since the last call.
  bool report_progress();
  // The supervisor may be another one: the next report_progress() repeats what was reported.
  void tell_again();
  // Answers with one Observed, also if the worker is dead. A newer question drops an unanswered
  // one, unless only one of the two has `use_of`. `workers`: how many workers of this node are
  // asked. The Observed says so; with `use_of` it says 1. If the question has neither `evidence`
  // nor `use_of`, a stop waits for the answer, for at most kLastLookMax (last_look.h).
  void observe(const wire::Observe& question, std::uint32_t workers);
  // Whether an operation of the worker takes longer than its history explains (head_watch.h).
  [[nodiscard]] bool has_overdue() const {
    return collectives_ && !exited_ && collectives_->has_overdue();
  }
  // From the next operation on, NCCL traces all events if `in_full`, otherwise only the cheap ones.
  // Ranks that are always traced in full are not affected (event_choice.h).
  void trace_in_full(bool in_full) {
    if (events_) events_->trace_in_full(in_full);
  }
  // Whether the worker has NCCL communicators.
  [[nodiscard]] bool uses_nccl() const;
  // The last reading of the progress record; null: the worker has not begun, or is dead.
  [[nodiscard]] const tracer::Reading* reading() const {
    return reported_ && !exited_ ? &*reported_ : nullptr;
  }
  void set_congested(bool congested);
  [[nodiscard]] bool gone() const { return tree_gone_ && pumps_running_ == 0; }
  [[nodiscard]] base::LocalRank local_rank() const { return slot_.local_rank; }
  [[nodiscard]] pid_t pid() const override { return exited_ ? 0 : pid_; }
  [[nodiscard]] const std::string& record_path() const override { return record_path_; }
  void signal_itself(int signal) override {
    if (!exited_) shim_->signal_worker(signal);
  }

 private:
  Worker(NodeContext& node, const Plan& plan, GoneHandler on_gone);
  base::Status launch(const Plan& plan);
  base::Result<WorkerStream> open_stream(const Plan& plan, bool is_stderr, base::Fd source);
  [[nodiscard]] base::Result<LaunchSpec> make_spawn(const Plan& plan) const;
  base::Status start_fresh(const Plan& plan, const LaunchSpec& spawn);
  base::Status start_warm(const Plan& plan, Standby::Taken standby);
  ShimLink::Handlers shim_handlers();
  void started(pid_t pid, bool warm);
  base::Status open_channels(const Plan& plan);
  void suggest_trackers() const;
  void on_format(const std::string& project);
  [[nodiscard]] ControlSocket::GiveMemory memory_for(const Plan& plan) const;
  [[nodiscard]] tracer::RankSnapshot describe() const;
  [[nodiscard]] Suspect as_suspect();
  void on_exited(base::ExitStatus status, base::Nanos at, bool shim_lost);
  [[nodiscard]] wire::OomKiller oom_killer_of(base::ExitStatus status,
                                              const wire::WorkerExited& report);
  void on_tree_gone(unsigned killed, const std::string& unkillable);
  void finish_if_gone();
  void observe_use(const wire::Observe& question, WorkerSnapshot::Plan plan);
  void report(std::vector<wire::CheckpointNote> notes);

  NodeContext& node_;
  const base::Nanos launched_at_ = node_.clock.now();
  const base::Attempt attempt_;
  const std::uint32_t ordered_by_;
  const wire::WorkerSlot slot_;
  const WorkerPaths paths_;
  GoneHandler on_gone_;
  std::optional<tracer::RecordFile> record_;
  std::string record_path_;
  std::string last_words_;  // files of FlightSource::make(), removed with this object
  WorkerFiles files_;
  std::optional<tracer::Reading> newest_;  // of record_
  std::optional<tracer::Reading> reported_;
  bool tells_again_ = false;  // what was reported is to be reported once more
  std::optional<LineMetrics> line_metrics_;  // only on the first and the last rank
  std::optional<EventChoice> events_;  // writes record_
  std::optional<CollectiveWatch> collectives_;  // reads record_
  std::unique_ptr<WorkerSnapshot> snapshot_;  // asks collectives_
  std::unique_ptr<WorkerSnapshot> use_;  // of Observe::use_of
  LastLook last_look_;
  CheckpointNotes checkpoints_;  // fed by socket_
  std::unique_ptr<ControlSocket> socket_;
  std::unique_ptr<LogPump> out_;
  std::unique_ptr<LogPump> err_;
  int pumps_running_ = 0;
  std::optional<Cgroup> cgroup_;
  std::optional<OomWatch> oom_;
  std::unique_ptr<ShimLink> shim_;
  std::unique_ptr<base::RequestSocket> standby_socket_;  // of a worker that was a standby
  std::string cold_;  // why it was no standby
  pid_t pid_ = 0;
  std::optional<base::Nanos> stopped_at_;
  bool exited_ = false;
  std::string end_;  // how it ended, in words, once exited_
  bool ended_well_ = false;
  bool tree_gone_ = false;
  Gone gone_;
};

}  // namespace robustrun::agent
