#pragma once
// The code that the run was started with (--sync-code), on this node before its workers start: its
// pack comes block by block from peers and, where none has one yet, from the supervisor; then it is
// unpacked into the cache (bootstrap/store/code_store.h).
//
// Owned by StageFiles, on the agent's loop. Begins as soon as the run is known here.

#include <functional>
#include <memory>

#include "agent/staging/staged_file.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class NodeCode {
 public:
  // Asks nobody before `begin`.
  static std::shared_ptr<NodeCode> make(StageHands hands);
  virtual ~NodeCode() = default;

  // What peers are answered from. Once, before begin(); null where the run brings no code.
  [[nodiscard]] virtual StagedFile* pack() = 0;
  virtual void begin() = 0;
  // Calls `go` when it is here, or cannot be: at once where there is none. Only the last `go` given
  // is called; after an error it is tried again.
  virtual void begin_attempt(std::function<void(base::Status)> go) = 0;
  // True when the message was for us.
  virtual bool take(const wire::Message& message) = 0;
  // The last call.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
