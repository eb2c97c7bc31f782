#pragma once
// Reads ahead what this node's workers read at their start, if that is known; else has the workers
// record it.
//
// Owned by the Preparation; used on the agent's loop. A profile (bootstrap/hot/hot_profile.h) of
// the interpreter and the program lies in the user's cache. We look for it as soon as the run and
// its image are known here, usually long before the first order, and at once read ahead what it
// lists. Without a profile, or with an old one or one whose files have changed, the next attempt's
// workers that start afresh leave lists of the files they touched
// (python/robustrun/_progress/hot_files.py), which become a new profile. Nothing here makes a start
// fail: what cannot be done is skipped.

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
  // Calls `go` once it is known whether there is a profile and whether lists are wanted: perhaps
  // before this returns, and after kHotKnownMax at the latest.
  void begin_attempt(const wire::StartWorkers& order, std::function<void()> go);
  [[nodiscard]] bool wants_lists() const;
  // If lists are wanted, creates the file `list`, in which a worker that starts afresh leaves what
  // it touched. The file is removed with the attempt.
  void ask(const std::string& list);
  // Takes the lists that workers have filled. Starts to make the profile when all are here, or when
  // the others are late. To be called up to ten times a second.
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
