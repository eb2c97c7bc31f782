#pragma once
// Reads ahead the files that this node's workers read at their start, if a profile lists them;
// otherwise has the workers record them.
//
// Owned by the Preparation; used on the agent's loop. A profile (bootstrap/hot/hot_profile.h)
// belongs to an interpreter and a program, and lies in the cache. Its files are read ahead as soon
// as it is found, usually long before the first order. If there is no profile of this program, or
// if it is old or its files have changed, the next attempt's workers that are new interpreters
// write lists of the files that they touch (python/robustrun/_progress/hot_files.py). These lists
// become a new profile. Nothing here makes a start fail: steps that fail are skipped.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

class HotFiles {
 public:
  explicit HotFiles(NodeContext& node);
  ~HotFiles();
  HotFiles(const HotFiles&) = delete;
  HotFiles& operator=(const HotFiles&) = delete;

  // Looks for the profile. To be called once it is known where workers run; later calls do nothing.
  void find();
  // Calls `go` once it is known whether lists are wanted: perhaps before this returns, and after
  // kHotKnownMax at the latest.
  void begin_attempt(const wire::StartWorkers& order, std::function<void()> go);
  [[nodiscard]] bool wants_lists() const;
  // If lists are wanted, creates the file `list`, in which a worker that is no standby writes which
  // files it touched. The file is removed with the attempt.
  void ask(const std::string& list);
  // Takes the lists that workers have written. Starts to make the profile when all lists are here,
  // or kHotListsWait after the first. To be called up to ten times a second.
  void look();
  // To be called when no worker of the attempt is left.
  void end_attempt();
  // Calls `then` once no profile is being made: perhaps before this returns, and after kHotMadeMax
  // at the latest.
  void when_made(std::function<void()> then);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
