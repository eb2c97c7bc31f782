#pragma once
// Which checkpoints are in a set of directories? Found by listing them, never by LATEST. Reads
// only.
//
// A checkpoint is committed if any of the directories has a sound MANIFEST of it: copies are made
// only after the commit. Which one is newest: attempt_choice.h.

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
  std::vector<std::string> folders;  // the attempt's folders, in the order of the directories
  Manifest manifest;  // if committed; with kSums and kHeads only its head
  // If committed, and not with kHeads:
  std::uint64_t tensors = 0;
  std::uint64_t data_bytes = 0;  // of all tensors
  std::string digest;  // of the manifest's bytes
  std::vector<std::string> nodes;  // machines whose local disks hold files of it
  bool drained = false;  // all data on local disks is also on shared storage
  // Damaged copies; with every Look, directories that do not answer or cannot be listed.
  std::vector<std::string> notes;

  [[nodiscard]] bool is_local() const { return !nodes.empty() && !drained; }
  [[nodiscard]] AttemptFacts facts() const;  // refers to this object, which must outlive it
};

// How much of each attempt is read. kHeads: only the manifest's head, even if the rest is damaged;
// digest, `verified`, `nodes` and `drained` stay unknown. This keeps a commit among thousands of
// attempts cheap. kSums: the whole manifest is read and its checksums are checked, but its tables
// are not kept; for lists. kAll: the whole manifest is kept.
enum class Look : std::uint8_t { kHeads, kSums, kAll };

// Lists all attempts, newest first; uncommitted ones come last. kNotFound: none of `directories`
// exists. What does not answer or cannot be listed is skipped, with a note in every attempt; it is
// an error if nothing else was found. `threads`: those of the directories; null: temporary ones.
base::Result<std::vector<FoundAttempt>> list_attempts(std::span<const std::string> directories,
                                                      MountThreads* threads = nullptr,
                                                      Look look = Look::kAll);
// Reads the rest of an attempt that was listed with kHeads or kSums; it may turn out to be damaged.
base::Status look_closer(FoundAttempt& found, MountThreads& threads);

// The newest attempt that is committed and not poisoned, else kNotFound.
base::Result<FoundAttempt> newest_committed(std::span<const std::string> directories,
                                            std::chrono::milliseconds patience = kPatience);

[[nodiscard]] std::vector<AttemptFacts> facts_of(std::span<const FoundAttempt> all);
base::Result<Manifest> read_document(Document document, const std::string& path);
[[nodiscard]] std::string_view word_for(AttemptState state);

}  // namespace robustrun::checkpoint
