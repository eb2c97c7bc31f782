#pragma once
// The standby workers of this node: one for each worker, made once the job has begun to make
// progress, used once, by the next attempt. A spare node has them for the workers that it may get.
//
// Owned by the WorkerSet, on the agent's loop. Which modules to import comes from the workers
// themselves: one that starts the usual way leaves a list beside its record
// (python/robustrun/_record/import_list.py) at its first step, or when it is asked for after
// kModulesAfter of user code. At most kStandbysAtOnce import at a time, and with a low priority
// (_boot/standby.py), so that the training feels little of it; those with the longest imports come
// first. A restart is as slow as its slowest worker, so it waits for standbys that still import if
// no other place is without one.
// None is kept when all of them would take too much memory, or when one refuses (standby_match.h).
// Every place that a restart fills without a standby has its reason, for the report.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/node/victim.h"
#include "agent/standby/standby.h"
#include "tracer/record_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class StandbySet {
 public:
  // `on_empty`: the last one is gone.
  StandbySet(NodeContext& node, std::function<void()> on_empty);
  ~StandbySet();
  StandbySet(const StandbySet&) = delete;
  StandbySet& operator=(const StandbySet&) = delete;

  struct Wanted {
    base::LocalRank local_rank;
    base::Rank rank;  // of the worker that it is like, elsewhere
    Spawn spawn;
  };
  // This node has no workers: it keeps standbys that were given what to import (`list` as in
  // docs/formats/standby.md). Those that are there and like that stay. None: none is kept.
  void keep(std::vector<Wanted> wanted, const std::string& list);
  // An attempt starts. Standbys that still import would compete with it and are killed, unless
  // every worker has one that is ready or imports, and half of them or more are ready.
  void begin(const wire::StartWorkers& order);
  // Calls `go`, now or once all that begin() has left importing are ready or gone, after
  // kStandbyWaitMax at most. A later `go` replaces it.
  void when_settled(std::function<void()> go);
  // For changed_path(), on a thread, before the attempt's first take().
  [[nodiscard]] std::vector<Ready::Stamp> stamps() const;
  // What they imported is no longer what a fresh worker would import.
  void discard(const std::string& why);
  struct Place {
    std::optional<Standby::Taken> standby;
    std::string cold;  // why there is none, where one might have been
  };
  // The worker of that slot is about to start as `wanted`. No standby: it has to start the usual
  // way, and may leave its list of modules in the file `list`, which is made for that.
  Place take(const wire::WorkerSlot& slot, const Spawn& wanted, const std::string& list);
  // Ten times a second, for each worker (`reading`: null while it has no record to read); then
  // once.
  void look(base::LocalRank rank, Victim& worker, const tracer::Reading* reading);
  void prepare();
  // The attempt ends: none is started before the next one.
  void pause();
  // None is started any more, and those that are there die.
  void end();
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  struct Slot {
    base::Rank rank;
    std::optional<Spawn> spawn;  // as the worker of the last attempt was started
    std::string list;  // where that one leaves its modules; empty: it started warm
    bool has_modules = false;  // modules_path() is there
    bool is_asked = false;
    bool has_progress = false;
    bool has_failed = false;  // a standby of this attempt
    std::uint64_t standby = 0;  // key of all_; 0: none
    std::string lost{};  // why it has no standby, if there was one or might have been
    base::Nanos imports{};  // how long they took in its last standby
    std::int64_t list_bytes = 0;  // of its modules: tells where nothing was timed yet
    base::Nanos started_at{};  // of its standby
  };
  using Slots = std::map<std::uint32_t, Slot>;  // by local rank

  [[nodiscard]] bool keeps_any() const;
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::string modules_path(std::uint32_t rank) const;
  void take_modules(std::uint32_t rank, Slot& slot);
  void tell_modules(std::uint32_t rank) const;
  [[nodiscard]] base::Status write_modules(std::uint32_t rank, const std::string& list) const;
  void start(std::uint32_t rank, Slot& slot);
  void on_ready(std::uint64_t serial, const Ready& ready);
  void refuse(std::uint64_t serial, const std::string& what);
  void on_gone(std::uint64_t serial);
  void give_up(const std::string& why);
  void kill(Slot& slot, std::string why = {});
  void no_longer_imports(std::uint64_t serial);
  [[nodiscard]] bool is_ready(const Slot& slot) const;
  [[nodiscard]] std::string why_none(const Slot& slot) const;

  NodeContext& node_;
  std::function<void()> on_empty_;
  Slots slots_;
  std::map<std::uint64_t, std::unique_ptr<Standby>> all_;  // those that die included
  std::uint64_t serial_ = 0;
  std::set<std::uint64_t> importing_;  // keys of all_
  std::optional<base::Attempt> teller_;  // the attempt whose modules the supervisor waits for
  std::string list_;  // a spare node's
  struct Timer;
  std::unique_ptr<Timer> patience_;  // of settled_
  std::function<void()> settled_;
  bool is_spare_ = false;
  bool paused_ = true;
  bool given_up_ = false;
  std::string given_up_for_;
};

}  // namespace robustrun::agent
