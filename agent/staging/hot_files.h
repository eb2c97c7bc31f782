#pragma once
// What this node's workers read at their start is read ahead of them, once it is known; where it is
// not, they are asked for it.
//
// Owned by the WorkerSet, on the agent's loop. A profile (bootstrap/hot/hot_profile.h) of the
// interpreter and the program lies in the user's cache. It is looked for as soon as the run and
// its image are known here, mostly long before there are orders, and read ahead at once. Without
// one of its own, with an old one, or one whose files have changed, the workers of the next attempt
// that start afresh leave lists of what they touched (python/robustrun/_record/hot_files.py), which
// become a new one. Nothing here can fail a start: what cannot be done is left out.

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

  // Where workers begin is known: what they read can be looked for. Once per run counts.
  void find();
  // Calls `go` once it is known what is read ahead and whether lists are wanted, which takes as
  // long as reading a small file; after kHotKnownMax in any case.
  void begin_attempt(const wire::StartWorkers& order, std::function<void()> go);
  // A worker that starts afresh leaves what it touched in the file `list`, which is made here if
  // that is wanted, and goes with the attempt.
  void ask(const std::string& list);
  // Ten times a second.
  void look();
  // No worker of the attempt is left.
  void end_attempt();
  // Calls `then` when no profile is being made any more, after kHotMadeMax in any case.
  void when_made(std::function<void()> then);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
