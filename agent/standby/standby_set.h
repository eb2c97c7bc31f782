#pragma once
// The standby workers of this node: one for each worker, made once the job makes progress, and used
// once, by the next attempt. A spare node has them for the workers that it may get.
//
// Owned by the WorkerSet, on the agent's loop. The workers themselves tell which modules to import:
// a worker that starts the usual way leaves a list beside its record
// (python/robustrun/_progress/import_list.py) at its first step. One that has no step after
// kModulesAfter of user code is asked for its list early, and at its first step writes it again:
// the standbys are then made anew. One interpreter, the template, imports the list, and they are
// forked from it (standby_template.h): at once when they are due, and again soon after every
// restart (kForkPause), so that the next restart finds them ready. If imports have read a variable
// that differs between ranks, those ranks have templates of their own. Where a template cannot be
// forked, because its imports have left a thread or the like, each standby is an interpreter that
// imports. At most kStandbysAtOnce import at a time, with a low priority (_boot/standby.py), to
// disturb the training little; those with the longest imports come first. A restart is as slow as
// its slowest worker, so it waits for standbys that still import if all other workers, at least
// half of all, have ready ones. It also waits for a template that still imports, because a worker
// that started now would import for longer. No standby is kept when all of them would take too much
// memory, or when one refuses (standby_match.h). Every worker that a restart starts without a
// standby has a reason, for the report.
//
// If the imports are known from an earlier run (known_imports.h), the node's first workers, too,
// are forked from a template, and nothing is imported while they train. Either all of the node are,
// or all start the usual way.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/node/fault_target.h"
#include "agent/node/node_context.h"
#include "agent/standby/standby.h"
#include "agent/standby/standby_template.h"
#include "base/io/timer.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class StandbySet {
 public:
  struct Handlers {
    std::function<void()> on_empty;  // the last standby is gone
    // A template can serve all workers of the node, so the list in this file can be used for all.
    // The node's first worker has left it at its first step.
    std::function<void(const std::string& list)> on_proven;
    // Workers could not be forked with the list of an earlier run, or did not come to their first
    // step.
    std::function<void()> on_spoilt;
  };
  StandbySet(NodeContext& node, Handlers handlers);
  StandbySet(const StandbySet&) = delete;
  StandbySet& operator=(const StandbySet&) = delete;

  struct Wanted {
    base::LocalRank local_rank;
    base::Rank rank;  // of the worker that the standby is for
    LaunchSpec spawn;
  };
  // On a node without workers: keeps standbys whose imports are given (`list` as in
  // docs/formats/standby.md). Existing standbys that match stay. Empty `wanted`: keeps none.
  void keep(std::vector<Wanted> wanted, const std::string& list);
  // An attempt starts. Standbys that still import would compete with it and are killed, unless
  // every worker has a standby that is ready or importing and at least half of them are ready.
  void begin(const wire::StartWorkers& order);
  // Whether the workers of the attempt that has begun are this node's first ones, and standbys
  // could become them if their imports were known.
  [[nodiscard]] bool may_begin_warm() const;
  // Starts the template for them; when_settled() waits for it. `wanted`: all of the node; `list`:
  // as in keep(), from an earlier run.
  void begin_warm(std::vector<Wanted> wanted, const std::string& list);
  // Calls `go` once nothing imports that this start waits for: the standbys that begin() left
  // importing, or a template and the standbys forked from it. That may be at once. It is at the
  // latest after the longest time from a start without standbys to the first step
  // (kStandbyWaitMin to kStandbyWaitMax), or after begin_warm() after kFirstStandbyWaitMax. A later
  // call replaces `go`.
  void when_settled(std::function<void()> go);
  // When settled, before the first take(): the first workers are forked, or none of them is.
  void settle_first();
  // What changed_path() compares, on a thread of the pool, before the attempt's first take().
  [[nodiscard]] std::vector<Ready::Stamp> stamps() const;
  // The imports of all standbys are out of date; `why` says what has changed.
  void discard(const std::string& why);
  struct Place {
    std::optional<Standby::Taken> standby;
    std::string cold;  // why there is no standby, if there might have been one
  };
  // The worker of `slot` is about to start as `wanted`. Without a standby it has to start the usual
  // way and may leave its list of modules in the file `list`, which is created for that.
  Place take(const wire::WorkerSlot& slot, const LaunchSpec& wanted, const std::string& list);
  // Call it up to ten times a second for each worker, then prepare() once. Notes whether the worker
  // has made a step, and takes its list of modules. `reading`: null while there is no record.
  void look(base::LocalRank rank, FaultTarget& worker, const tracer::Reading* reading);
  void prepare();
  // A worker of the attempt failed by itself before its first step.
  void worker_failed_early(base::LocalRank rank);
  // The attempt ends: no standby is started before the next one.
  void pause();
  // No standby is started any more, and the existing ones are killed.
  void end();
  [[nodiscard]] bool empty() const { return all_.empty() && templates_.empty(); }

 private:
  struct Slot {
    base::Rank rank;
    std::optional<LaunchSpec> spawn;  // of the last attempt's worker
    std::string list;  // where that worker leaves its modules; empty: it started warm
    bool has_modules = false;  // the file modules_path() exists
    bool is_asked = false;
    std::uint64_t early = 0;  // inode of a list from before the worker's first step; 0: it is whole
    bool has_progress = false;
    bool has_failed = false;  // a standby of this attempt failed
    bool was_forked = false;  // the worker was a standby forked from a template
    bool failed_early = false;  // and failed by itself before its first step
    bool has_whole_list = false;  // its modules are those of a first step in this run
    std::uint64_t standby = 0;  // key of all_; 0: none
    std::uint64_t origin = 0;  // key of templates_, from which it was forked; 0: it was not
    std::string lost{};  // why it has no standby, if there was or might have been one
    base::Nanos imports{};  // how long the imports took in its last standby
    // Size of its list of modules: the estimate before a first measurement.
    std::int64_t list_bytes = 0;
    base::Nanos started_at{};  // when its standby was started
    // When its worker started the usual way; 0: it did not, or has a step.
    base::Nanos cold_since{};
  };
  using Slots = std::map<std::uint32_t, Slot>;  // by local rank

  [[nodiscard]] bool keeps_any() const;
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::string modules_path(std::uint32_t rank) const;
  void take_modules(std::uint32_t rank, Slot& slot, bool is_early);
  void tell_modules(std::uint32_t rank) const;
  [[nodiscard]] base::Status write_modules(std::uint32_t rank, const std::string& list) const;
  void start(std::uint32_t rank, Slot& slot, std::uint64_t origin = 0,
             std::vector<std::string> changes = {});
  // Its key of templates_; 0: it cannot be started.
  std::uint64_t start_template(std::uint32_t rank, const Slot& slot, bool is_first = false);
  void on_template_ready(std::uint64_t serial);
  void use(StandbyTemplate& made);
  void on_template_gone(std::uint64_t serial);
  void kill_templates();
  [[nodiscard]] bool may_fork(const Slot& slot) const;
  void settle();
  void cancel_wait();
  [[nodiscard]] base::Nanos wait_max() const;
  void drop_first();
  [[nodiscard]] bool serves_all(const StandbyTemplate& made) const;
  // Forks the standbys that are missing and have a template.
  void fork_missing();
  [[nodiscard]] bool has_template(const Slot& slot) const;
  void on_ready(std::uint64_t serial, const Ready& ready);
  void refuse(std::uint64_t serial, const std::string& what);
  void on_gone(std::uint64_t serial);
  void give_up(const std::string& why);
  void kill(Slot& slot, std::string why = {});
  void no_longer_imports(std::uint64_t serial);
  [[nodiscard]] bool is_ready(const Slot& slot) const;
  [[nodiscard]] std::string why_none(const Slot& slot) const;

  NodeContext& node_;
  const Handlers handlers_;
  Slots slots_;
  std::map<std::uint64_t, std::unique_ptr<Standby>> all_;  // including dying ones
  std::map<std::uint64_t, std::unique_ptr<StandbyTemplate>> templates_;  // including dying ones
  bool forks_ = true;  // false: templates cannot fork standbys here
  std::uint64_t serial_ = 0;
  std::set<std::uint64_t> importing_;  // keys of all_
  std::uint64_t awaited_ = 0;  // key of templates_, while a start waits for its imports; 0: none
  std::optional<base::Attempt>
      modules_wanted_by_;  // the attempt whose modules the supervisor waits for
  std::string list_;  // given by the supervisor, on a spare node
  base::Timer patience_;  // for settled_
  base::Nanos cold_start_{};  // the longest from a start without standby to the first step
  std::function<void()> settled_;
  bool is_spare_ = false;
  // Standbys with a list of an earlier run are to become, or became, the node's first workers.
  enum class First : std::uint8_t { kNo, kWaiting, kTaken };
  First first_ = First::kNo;
  std::string known_;  // that list, while it is in use
  // known_ is out of date, or cannot be used just now: the list itself is not spoilt.
  bool is_outdated_ = false;
  base::Nanos fork_from_{};  // no forks before; a restart that comes sooner forks by itself
  bool paused_ = true;
  bool given_up_ = false;
  std::string given_up_for_;
};

}  // namespace robustrun::agent
