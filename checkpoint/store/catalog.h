#pragma once
// Which checkpoints lie in some directories? Found by looking, never by LATEST. Only reads.
//
// A checkpoint is committed when any of the directories has a sound MANIFEST of it: copies are made
// after the commit alone. Which one is the newest: attempt_choice.h.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/store/attempt_choice.h"

namespace robustrun::checkpoint {

struct FoundAttempt : AttemptMarks {
  AttemptId attempt;
  AttemptState state = AttemptState::kIncomplete;
  std::vector<std::string> folders;  // of the attempt, in the order of the directories
  Manifest manifest;  // when committed; by kSums and kHeads its head alone
  std::uint64_t tensors = 0;  // when committed, not by kHeads
  std::uint64_t data_bytes = 0;  // of all tensors; as above
  std::string digest;  // of the manifest's bytes, when committed
  std::vector<std::string> nodes;  // on whose own disks it was saved; as above
  bool drained = false;  // all of that is on shared storage, too
  std::vector<std::string> notes;  // damaged copies; directories that do not answer

  [[nodiscard]] bool is_local() const { return !nodes.empty() && !drained; }
  [[nodiscard]] AttemptFacts facts() const;  // it outlives them
};

// How closely each is looked at. With kHeads a manifest is its head, whatever else of it may be
// damaged; digest, `verified`, `nodes` and `drained` are not known, and a commit among thousands
// stays cheap. With kSums all of its bytes are read and their checksums looked at, but its tables
// are not kept: for lists.
enum class Look : std::uint8_t { kHeads, kSums, kAll };

// Newest first; what is not committed is behind what is. kNotFound: none of the directories is one.
// A directory that does not answer is left out, which is a note of each. `threads`: of these
// directories as mounts; null: own ones.
base::Result<std::vector<FoundAttempt>> list_attempts(std::span<const std::string> directories,
                                                      MountThreads* threads = nullptr,
                                                      Look look = Look::kAll);
// Finds out the rest about one of which less than all is known; it may turn out to be damaged.
base::Status look_closer(FoundAttempt& found, MountThreads& threads);

// The newest committed one that is not poisoned; kNotFound when there is none.
base::Result<FoundAttempt> newest_committed(std::span<const std::string> directories,
                                            std::chrono::milliseconds patience = kPatience);

[[nodiscard]] std::vector<AttemptFacts> facts_of(std::span<const FoundAttempt> all);
base::Result<Manifest> read_document(Document document, const std::string& path);
[[nodiscard]] std::string_view word_for(AttemptState state);

}  // namespace robustrun::checkpoint
