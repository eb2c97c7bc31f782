#pragma once
// The standby workers of this node: one for each worker, made once the job makes progress, and used
// once, by the next attempt. A spare node has them for the workers that it may get.
//
// Owned by the WorkerSet, on the agent's loop.
//
// What to import: a worker that starts without a standby writes a list of its modules beside its
// record at its first step (python/robustrun/_progress/import_list.py). If it has made no step
// after kModulesAfter of user code, it is asked for the list early; at its first step it writes the
// list again, and the standbys are made anew.
//
// How standbys are made: a template imports the list, and the standbys are forked from it
// (standby_template.h), again after every restart (kForkPause). Ranks whose imports read a variable
// that differs between ranks have templates of their own. If a template cannot be forked, for
// example because its imports left a thread, each standby is an interpreter that imports by itself.
// At most kStandbysAtOnce import at a time, at low priority (_boot/standby.py), to disturb the
// training little; standbys with the longest imports come first. No standbys are kept if all of
// them would take too much memory, or if one refuses (standby_match.h).
//
// A restart is as slow as its slowest worker. So it waits for standbys that still import, if each
// other worker has a ready one and these are at least half of all. It also waits for a template
// that still imports, because a worker that started now would import for longer. The report says
// why a restart starts a worker without a standby.
//
// If the imports are known from an earlier run (known_imports.h), the node's first workers are
// forked from a template, too: all of them, or none.

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
    // A template that imported the list in this file can serve all workers of the node. The worker
    // with the lowest local rank wrote the list at its first step.
    std::function<void(const std::string& list)> on_proven;
    // With the list of an earlier run, workers could not be forked or did not come to their first
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
  // On a node without workers: keeps standbys for the workers `wanted`, with the modules of `list`
  // (docs/formats/standby.md). Existing standbys that match stay. Empty `wanted`: keeps none.
  void keep(std::vector<Wanted> wanted, const std::string& list);
  // To be called when an attempt starts. Standbys that still import would compete with the workers
  // and are killed, unless each worker has a ready or importing standby and at least half are ready
  // or just being forked.
  void begin(const wire::StartWorkers& order);
  // Whether the attempt's workers are the first ones on this node, and could be standbys if their
  // imports were known.
  [[nodiscard]] bool may_begin_warm() const;
  // Starts the template from which the node's first workers are to be forked; when_settled() waits
  // for it. Only if may_begin_warm(). `wanted`: all workers of the node; `list`: as in keep().
  void begin_warm(std::vector<Wanted> wanted, const std::string& list);
  // Calls `go` once the start need not wait for imports any more, perhaps at once: for standbys
  // that begin() left importing, or for a template and the standbys forked from it. After
  // begin_warm() the wait lasts at most kFirstStandbyWaitMax. Otherwise it lasts at most as long as
  // the slowest start without a standby took until its first step, but that limit lies between
  // kStandbyWaitMin and kStandbyWaitMax. A later call replaces `go`.
  void when_settled(std::function<void()> go);
  // To be called when settled, before the first take(). If begin_warm() has not made all standbys
  // of the node ready, none of them is used.
  void settle_first();
  // The stamps of all ready standbys, for changed_path() before the attempt's first take().
  [[nodiscard]] std::vector<Ready::Stamp> stamps() const;
  // Kills all standbys and templates, because their imports are out of date. `why`: what has
  // changed.
  void discard(const std::string& why);
  struct Place {
    std::optional<Standby::Taken> standby;
    std::string cold;  // why there is no standby; empty: none was to be expected
  };
  // The standby for the worker of `slot`, which is about to start as `wanted`. If the worker
  // gets no standby, creates the file `list`, in which the worker is to write its list of modules.
  Place take(const wire::WorkerSlot& slot, const LaunchSpec& wanted, const std::string& list);
  // To be called up to ten times a second for each worker, each time followed by one prepare().
  // Notes whether the worker has made a step or has run user code for kModulesAfter, and takes its
  // list of modules. `reading`: null while there is no record.
  void look(base::LocalRank rank, FaultTarget& worker, const tracer::Reading* reading);
  // Forks the standbys that are due, or starts the next template or standby.
  void prepare();
  // A worker of the attempt failed by itself before its first step.
  void worker_failed_early(base::LocalRank rank);
  // The attempt ends: no standby is started before the next attempt.
  void pause();
  // Kills all standbys; no standby is started any more.
  void end();
  [[nodiscard]] bool empty() const { return all_.empty() && templates_.empty(); }

 private:
  struct Slot {
    base::Rank rank;
    std::optional<LaunchSpec> spawn;  // of the last attempt's worker
    std::string list;  // where that worker writes its modules; empty: it was a standby
    bool has_modules = false;  // the file modules_path() exists
    bool is_asked = false;  // the worker was asked for its list early
    std::uint64_t early = 0;  // inode of a list from before the worker's first step; 0: none
    bool has_progress = false;
    bool has_failed = false;  // a standby of this attempt failed
    bool was_forked = false;  // the worker was a standby forked from a template
    bool failed_early = false;  // was_forked, and failed by itself before its first step
    bool has_whole_list = false;  // the worker wrote its list at its first step, in this run
    std::uint64_t standby = 0;  // key of all_; 0: none
    std::uint64_t origin = 0;  // key of the standby's template in templates_; 0: not forked
    std::string lost{};  // why it lost its standby; empty: it did not
    base::Nanos imports{};  // how long the imports took in its last standby
    // Size of its list of modules: estimates `imports` before a first measurement.
    std::int64_t list_bytes = 0;
    base::Nanos started_at{};  // when its standby was started
    // When its worker started without a standby; 0: it was a standby, or has made a step.
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
  // Returns the template's key in templates_; 0: it cannot be started.
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
  base::Nanos cold_start_{};  // longest time from a start without standby to the first step
  std::function<void()> settled_;
  bool is_spare_ = false;
  // Standbys with a list of an earlier run are to become, or became, the node's first workers.
  enum class First : std::uint8_t { kNo, kWaiting, kTaken };
  First first_ = First::kNo;
  std::string known_;  // that list of an earlier run, while it is in use
  // The list known_ is out of date or cannot be used now, but is not to be marked as spoilt.
  bool is_outdated_ = false;
  base::Nanos fork_from_{};  // no forks before this time, except by begin()
  bool paused_ = true;
  bool given_up_ = false;
  std::string given_up_for_;
};

}  // namespace robustrun::agent
