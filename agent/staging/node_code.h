#pragma once
// The code that the run was started with (--sync-code), brought to this node before its workers
// start. Its pack comes block by block from peers and, for blocks that no peer has yet, from the
// supervisor; then it is unpacked into the cache (bootstrap/store/code_store.h).
//
// Owned by StageFiles, on the agent's loop. Begins as soon as the run is known here.

#include <functional>
#include <memory>

#include "agent/staging/staged_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class NodeCode {
 public:
  // No peer is asked before begin().
  static std::shared_ptr<NodeCode> make(StageContext context);
  virtual ~NodeCode() = default;

  // The source from which peers are answered; null if the run brings no code. Call once, before
  // begin().
  [[nodiscard]] virtual StagedFile* pack() = 0;
  virtual void begin() = 0;
  // Calls `go` when the code is here or not available; at once if the run brings no code. A later
  // call replaces `go`. After an error the next call tries again.
  virtual void begin_attempt(std::function<void(base::Status)> go) = 0;
  // True: `message` was handled here.
  virtual bool take(const wire::Message& message) = 0;
  // The last call.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
