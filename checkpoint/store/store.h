#pragma once
// Checkpoints in directories: how one comes to be. The protocol, step by step, and what a crash
// leaves behind at each: docs/checkpoint-format.md. Everything of a checkpoint is written and
// synced before its MANIFEST is renamed into place in the home directory; that rename is the
// commit.
//
// One process alone: begin(), write_part() for each writer, commit(). Writers that do not talk to
// each other (ranks): each of them claim(), join(), write_part(), commit_if_complete(); whoever is
// last commits. Every call names a generation; after admit(g), or a claim that gave g, nothing of
// an older one commits. One call at a time on one Store; several processes may use the same
// directories.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "checkpoint/disk/directory_lock.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/guarded_disk.h"
#include "checkpoint/disk/write_rate.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/data_writer.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/parity_writer.h"

namespace robustrun::checkpoint {

struct Mount {
  std::string path;   // there already
  double weight = 1;  // its share of the data: its bandwidth, in any unit
};

// Directories on disks of this machine alone. Data goes there first, and to the mounts where they
// have no room or fail; control files never do. local_drain.h copies it to the mounts later.
struct LocalDisks {
  std::vector<std::string> directories;
  std::string node;  // this machine, for people: nothing is found by it
  friend bool operator==(const LocalDisks&, const LocalDisks&) = default;
};

struct StoreOptions {
  std::vector<Mount> mounts;  // the first is the home: control files
  std::uint32_t workers_per_mount = 2;
  IoWay io = IoWay::kAuto;  // how data gets past the page cache
  std::chrono::milliseconds patience = kPatience;  // a mount that takes longer for a call is stuck
  std::optional<std::chrono::milliseconds> first_patience{};  // when it is opened; none: the same
  std::chrono::milliseconds lock_patience = kLockPatience;  // with others who save there
  std::shared_ptr<std::atomic<std::uint64_t>> written{};  // bytes of data and parity are added
  Disk* disk = nullptr;  // null: the real one
  const base::Clock* clock = nullptr;  // null: the system's
  LocalDisks local{};
};

// What one writer (a node) saves. Sources must stay as they are until write_part() returns.
struct PartContents {
  std::vector<Shard> shards;  // without pieces and CRCs
  std::vector<std::string_view> sources;  // as many
  std::vector<RankState> states;
  bool crcs_known = false;  // a shard's CRC says what its bytes have to be: else kCorrupt, by name
  std::string file_tag{};  // behind the writer's name in names of files, where it may have begun
                           // before; empty: none
};

// kInvalidArgument or kLimit says what of it cannot be saved.
base::Status check_contents(const PartContents& contents);

struct Committed {
  Manifest manifest;
  std::string digest;
  std::vector<std::string> notes;  // what went wrong without harm: a copy, the hint
};

// A writer's part whose data is on disk, and that nobody sees yet.
struct PreparedPart {
  Manifest part;  // with the CRCs of what was written
  std::vector<std::string> notes;  // what went wrong without harm: mounts that were done without
};

struct Completion {
  bool committed = false;  // by this call or before; else parts are missing
  std::vector<std::string> notes;  // as in Committed
};

class Store {
 public:
  // The mounts' paths are made absolute. The home must be a directory that answers (kNotFound: it
  // is none); what is wrong with another mount each save does without, and says.
  static base::Result<Store> open(StoreOptions options);

  // From now on any `parity` mounts may be lost or damaged; 0, as at first: none.
  // kInvalidArgument: there are not more mounts than that, or there are local disks.
  base::Status use_parity(std::uint32_t parity);
  // From now on; none, as at first: data goes to the mounts. What is wrong with one of them each
  // save does without, and says. kInvalidArgument: with parity, or one of the mounts is among them.
  base::Status use_local(LocalDisks local);
  // From now on only `generation` or a later one commits. kConflict: a later one was admitted.
  base::Status admit(std::uint64_t generation);
  // The generation of a session: the same for all who name the same one. The first of them
  // commits what earlier sessions left complete, so that later ones find what it found; then no
  // earlier session commits any more. kConflict: a later attempt of this run was here.
  base::Result<std::uint64_t> claim(const Session& session);
  base::Result<AttemptId> begin(std::uint64_t step, std::uint64_t generation,
                                const WorldLayout& layout, std::vector<std::string> writers);
  // Makes that attempt, or joins it: its INTENT is as this call would write it. kConflict: it says
  // another layout or other writers, or the attempt is committed already.
  base::Status join(const AttemptId& attempt, const WorldLayout& layout,
                    std::vector<std::string> writers);
  // Answers what went wrong without harm: mounts that failed and were done without.
  base::Result<std::vector<std::string>> write_part(const AttemptId& attempt,
                                                    const std::string& writer,
                                                    const PartContents& contents);
  // Its two halves: the data, and then, once the caller has seen that its sources did not change,
  // the part that counts.
  base::Result<PreparedPart> write_data(const AttemptId& attempt, const std::string& writer,
                                        const PartContents& contents);
  base::Status publish_part(const PreparedPart& prepared);
  // It has all that this writer saves.
  [[nodiscard]] bool has_part(const AttemptId& attempt, const std::string& writer) const;
  // `generation`: of who commits; that of the attempt unless it is salvaged.
  base::Result<Committed> commit(const AttemptId& attempt, std::uint64_t generation);
  // To be called by every writer behind its write_part(): the last one's call commits.
  base::Result<Completion> commit_if_complete(const AttemptId& attempt, std::uint64_t generation);
  // Commits every attempt that is complete and verified and only lacks its MANIFEST, unless a later
  // save of its generation is committed.
  base::Result<std::vector<Committed>> salvage(std::uint64_t generation);

  [[nodiscard]] std::vector<std::string> directories() const;  // of the mounts
  // From now on data and parity are written at no more than this; 0, as at first: no limit. May be
  // called by another thread while a save goes on.
  void limit_writes(std::uint64_t bytes_per_s) { rate_->limit(bytes_per_s); }

 private:
  Store(StoreOptions options, std::unique_ptr<MountThreads> threads, DataWriter writer);
  [[nodiscard]] const std::string& home() const { return options_.mounts.front().path; }
  [[nodiscard]] std::string at_home(const AttemptId& attempt) const;
  // Asked before it is touched by this thread: ETIMEDOUT instead of waiting for ever.
  [[nodiscard]] base::Status home_answers() const;
  base::Result<DirectoryLock> lock_home();
  base::Status check_fence(std::uint64_t generation) const;
  base::Status check_same_intent(const Manifest& wanted) const;
  base::Status write_intent(const Manifest& intent);
  [[nodiscard]] Manifest intent_of(AttemptId attempt, const WorldLayout& layout,
                                   std::vector<std::string> writers) const;
  base::Status make_attempt(const std::string& mount, const AttemptId& attempt);
  std::vector<MountFolder> make_folders(Manifest& part, std::vector<std::string>& notes);
  base::Result<DataSaved> save_data(const PartContents& contents, const std::string& name,
                                    const std::vector<MountFolder>& folders,
                                    std::vector<std::string>& notes);
  base::Result<Manifest> gather_parts(const AttemptId& attempt) const;
  // Both under the lock of the home.
  base::Result<Committed> publish(Manifest manifest);
  base::Result<std::vector<Committed>> salvage_all(std::vector<FoundAttempt> all);

  StoreOptions options_;  // `disk` is guarded_
  std::unique_ptr<MountThreads> threads_;
  Disk* unguarded_;
  std::unique_ptr<GuardedDisk> guarded_;
  DataWriter writer_;
  std::unique_ptr<WriteRate> rate_;
  std::uint32_t rows_ = 0;  // of parity
  std::optional<ParityWriter> parity_;
};

// One after the other in the order of `parts`: mounts, files, shards and states.
[[nodiscard]] Manifest merged(Manifest intent, std::vector<Manifest> parts);

}  // namespace robustrun::checkpoint
