#pragma once
// Brings the run's code (--sync-code) to this node before workers start. The code comes as one
// file, the pack, block by block: from peers or, if no peer has the block, from the supervisor. The
// pack is then unpacked into the cache (bootstrap/store/code_store.h).
//
// Owned by StageFiles, which begins it as soon as the run is known here. Used on the agent's loop.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "agent/staging/staged_file.h"
#include "base/io/fd.h"
#include "base/io/timer.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class NodeCode : public std::enable_shared_from_this<NodeCode> {
 public:
  // No peer is asked before begin().
  explicit NodeCode(StageContext context)
      : context_(context), code_(context.node.workers.code), ask_again_(context.node.executor) {}

  // The source for peers' requests; null if the run brings no code. To be called before begin().
  [[nodiscard]] StagedFile* pack();
  void begin();
  // Calls `go` when the code is here or cannot be brought; at once if it is here already or the run
  // brings none. A later call replaces `go`. After an error the next call tries again.
  void begin_attempt(std::function<void(base::Status)> go);
  // True: `message` was handled here.
  bool take(const wire::Message& message);
  // The last call.
  void abandon();

 private:
  enum class State : std::uint8_t { kBusy, kReady, kFailed };
  using Answer = std::function<void(base::Result<SharedBlock>)>;
  void want(std::uint64_t block, Answer answer);
  void ask_more();
  void ask_again();
  void unpack();
  void end(base::Status status);

  StageContext context_;
  std::optional<wire::SyncedCode> code_;
  std::shared_ptr<StagedFile> pack_;
  State state_ = State::kBusy;
  std::function<void(base::Status)> go_;
  std::deque<std::pair<std::uint64_t, Answer>> wanted_;
  std::map<std::uint64_t, Answer> asked_;
  base::Timer ask_again_;
  base::Fd lock_;  // keeps the code from being removed
};

}  // namespace robustrun::agent
