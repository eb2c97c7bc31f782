#pragma once
// The standby workers of this node: one for each worker, made once the job has begun to make
// progress, used once, by the next attempt. A spare node has them for the workers that it may get.
//
// Owned by the WorkerSet, on the agent's loop. Which modules to import comes from the workers
// themselves: one that starts the usual way leaves a list beside its record (python/robustrun/
// _modules.py) at its first step, or when it is asked for after kModulesAfter of user code. The
// standbys are started one after the other, so that they take one processor from the job at most.
// None is kept when all of them would take too much memory, or when one refuses (standby_match.h).

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/node_context.h"
#include "agent/standby.h"
#include "agent/victim.h"
#include "tracer/record_file.h"
#include "wire/messages.h"

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
  // An attempt starts. Standbys that still import would compete with it: they are killed.
  void begin(const wire::StartWorkers& order);
  // For changed_path(), on a thread, before the attempt's first take().
  [[nodiscard]] std::vector<Ready::Stamp> stamps() const;
  // What they imported is no longer what a fresh worker would import.
  void discard(const std::string& why);
  // The worker of that slot is about to start as `wanted`. Nothing: it has to start the usual way,
  // and may leave its list of modules in the file `list`, which is made for that.
  std::optional<Standby::Taken> take(const wire::WorkerSlot& slot, const Spawn& wanted,
                                     const std::string& list);
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
  void kill(Slot& slot);

  NodeContext& node_;
  std::function<void()> on_empty_;
  Slots slots_;
  std::map<std::uint64_t, std::unique_ptr<Standby>> all_;  // those that die included
  std::uint64_t serial_ = 0;
  std::uint64_t importing_ = 0;  // key of all_; 0: none
  std::optional<base::Attempt> teller_;  // the attempt whose modules the supervisor waits for
  std::string list_;  // a spare node's
  bool is_spare_ = false;
  bool paused_ = true;
  bool given_up_ = false;
};

}  // namespace robustrun::agent
