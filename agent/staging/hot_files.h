#pragma once
// Reads ahead what this node's workers read at their start, if that is known; else has the workers
// record it.
//
// Owned by the WorkerSet, on the agent's loop. A profile (bootstrap/hot/hot_profile.h) of the
// interpreter and the program lies in the user's cache. It is looked for as soon as the run and its
// image are known here, usually long before the first order, and read ahead at once. Without a
// profile, or with an old one or one whose files have changed, the next attempt's workers that
// start afresh leave lists of the files they touched (python/robustrun/_record/hot_files.py), which
// become a new profile. Nothing here can fail a start: what cannot be done is skipped.

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

  // It is known where workers run, so their profile can be looked for. Only the first call counts.
  void find();
  // Calls `go` once it is known whether there is a profile and whether lists are wanted: after the
  // reading of a small file, and after kHotKnownMax in any case.
  void begin_attempt(const wire::StartWorkers& order, std::function<void()> go);
  [[nodiscard]] bool wants_lists() const;
  // If lists are wanted, creates the file `list`, in which a worker that starts afresh leaves what
  // it touched. The file is removed with the attempt.
  void ask(const std::string& list);
  // Called up to ten times a second.
  void look();
  // No worker of the attempt is left.
  void end_attempt();
  // Calls `then` when no profile is being made any more, and after kHotMadeMax in any case.
  void when_made(std::function<void()> then);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
