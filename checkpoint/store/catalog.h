#pragma once
// Finds the checkpoints in a set of directories by listing them; does not use LATEST. Changes
// nothing on disk.
//
// A checkpoint is committed if any of the directories has a sound MANIFEST of it, because copies
// are made only after the commit. attempt_choice.h decides which checkpoint is the newest.

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

// An attempt and what its folders say about it.
struct FoundAttempt : AttemptMarks {
  AttemptId attempt;
  AttemptState state = AttemptState::kIncomplete;
  std::vector<std::string> folders;  // the attempt's folders, in the order of the directories
  Manifest manifest;  // if committed; with kSums and kHeads only its head
  // The following are known only if the attempt is committed, and not with kHeads.
  std::uint64_t tensors = 0;  // number of shards
  std::uint64_t data_bytes = 0;  // of all tensors
  std::string digest;  // of the manifest's bytes
  std::vector<std::string> nodes;  // machines whose local disks hold files of the attempt
  bool drained = false;  // all data that was saved to local disks is also on shared storage
  // Damaged copies of the manifest (not with kHeads), and directories that do not answer or cannot
  // be listed.
  std::vector<std::string> notes;

  [[nodiscard]] bool is_local() const { return !nodes.empty() && !drained; }
  [[nodiscard]] AttemptFacts facts() const;  // refers to this object, which must outlive it
};

// How much of each attempt is read. kHeads reads only the manifest's head, even if the rest is
// damaged; digest, `verified`, `nodes` and `drained` stay unknown. This keeps a commit among
// thousands of attempts cheap. kSums, for lists, reads the whole manifest and checks its checksums,
// but does not keep its tables. kAll keeps the whole manifest.
enum class Look : std::uint8_t { kHeads, kSums, kAll };

// Lists all attempts, newest first; uncommitted ones come last. A directory that does not answer or
// cannot be listed is skipped, with a note in every attempt. This is an error if no attempt is
// found and no directory could be listed. kNotFound: none of `directories` exists. `threads`: those
// of the directories; null: temporary ones.
base::Result<std::vector<FoundAttempt>> list_attempts(std::span<const std::string> directories,
                                                      MountThreads* threads = nullptr,
                                                      Look look = Look::kAll);
// Reads the rest of an attempt that was listed with kHeads or kSums. Its state may change: the
// manifest may be damaged, or removed meanwhile.
base::Status look_closer(FoundAttempt& found, MountThreads& threads);

// The newest attempt that is committed and not poisoned. kNotFound: there is none.
base::Result<FoundAttempt> newest_committed(std::span<const std::string> directories,
                                            std::chrono::milliseconds patience = kPatience);

[[nodiscard]] std::vector<AttemptFacts> facts_of(std::span<const FoundAttempt> all);
base::Result<Manifest> read_document(Document document, const std::string& path);
[[nodiscard]] std::string_view word_for(AttemptState state);

}  // namespace robustrun::checkpoint
