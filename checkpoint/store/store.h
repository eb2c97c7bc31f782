#pragma once
// Saves checkpoints into directories. docs/checkpoint-format.md describes the protocol step by
// step, and what a crash leaves behind at each step. All data is written and synced before the
// MANIFEST is renamed into place in the home directory; that rename is the commit.
//
// A single process calls begin(), write_part() for each writer, and commit(). Writers that do not
// talk to each other (ranks) each call claim(), join(), write_part() and commit_if_complete(); the
// last one commits. Each attempt and each commit has a generation. After admit(g), or a claim that
// returned g, no generation below g commits. Make one call at a time on one Store; several
// processes may use the same directories.

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
#include "checkpoint/format/limits.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/data_writer.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/parity_writer.h"

namespace robustrun::checkpoint {

struct Mount {
  std::string path;   // of the home: must exist
  double weight = 1;  // bandwidth, in any unit; determines the mount's share of the data
};

// Directories on local disks of this machine. Data is written there, and later copied to the mounts
// (local_drain.h). If all local disks fail or together have no room, data is written to the mounts.
// Control files are never written to local disks.
struct LocalDisks {
  std::vector<std::string> directories;
  std::string node;  // this machine's name, only for display
  friend bool operator==(const LocalDisks&, const LocalDisks&) = default;
};

struct StoreOptions {
  std::vector<Mount> mounts;  // the first is the home, which has the control files
  std::uint32_t workers_per_mount = 2;
  IoWay io = IoWay::kAuto;
  // Time limit for one call to a mount; a mount that takes longer counts as stuck.
  std::chrono::milliseconds patience = kPatience;
  std::optional<std::chrono::milliseconds> first_patience{};  // for open(); nullopt: `patience`
  std::chrono::milliseconds lock_patience = kLockPatience;  // how long to wait for the home's lock
  std::shared_ptr<std::atomic<std::uint64_t>> written{};  // counts bytes of data and parity
  Disk* disk = nullptr;  // null: the real disk
  const base::Clock* clock = nullptr;  // null: the system's
  LocalDisks local{};
  std::size_t manifest_bytes_max = kManifestBytesMax;  // readers refuse more
};

// What one writer (a node or a rank) saves. Sources must stay unchanged until write_part() returns.
struct PartContents {
  std::vector<Shard> shards;  // without pieces and CRCs
  std::vector<std::string_view> sources;  // one per shard
  std::vector<RankState> states;
  // The shards' CRCs are set. If a shard's bytes have another CRC, kCorrupt names the shard.
  bool crcs_known = false;
  // Appended to the writer's name in file names unless empty. For a writer that may have begun this
  // part before.
  std::string file_tag{};
};

// kInvalidArgument or kLimit names what cannot be saved.
base::Status check_contents(const PartContents& contents);

struct Committed {
  Manifest manifest;
  std::string digest;
  std::vector<std::string> notes;  // harmless faults: a copy of the MANIFEST or LATEST is missing
};

// A writer's part that is not published yet. Its data is on disk.
struct PreparedPart {
  Manifest part;  // with the CRCs of what was written
  std::vector<std::string> notes;  // harmless faults: mounts that were not used
};

struct Completion {
  bool committed = false;  // by this call or earlier; false: parts are missing
  std::vector<std::string> notes;  // as in Committed
  // False if another writer committed. Of several writers that waited for the lock, one commits.
  bool by_this_call = false;
};

class Store {
 public:
  // Opens a store and makes the mounts' paths absolute. The home must be a directory that answers
  // (kNotFound: no such directory). If another mount is faulty, each save does without it and
  // reports it. kInvalidArgument: no mount, no thread, a directory twice, or more than kMountsMax
  // directories.
  static base::Result<Store> open(StoreOptions options);

  // From now on, saves with enough parity that any `parity` mounts may be lost or damaged. The
  // initial value is 0. kInvalidArgument: there are not more than `parity` mounts, or there are
  // local disks.
  base::Status use_parity(std::uint32_t parity);
  // From now on, data is written to these local disks; without directories (the initial value), to
  // the mounts. Each save does without a faulty local disk and reports it. kInvalidArgument: parity
  // is in use, or a mount is among the directories.
  base::Status use_local(LocalDisks local);
  // From now on, only `generation` or a later one commits. kConflict: a later one was admitted.
  base::Status admit(std::uint64_t generation);
  // Returns the generation of a session, the same for all processes that name the session. The
  // first of them commits the checkpoints that earlier sessions left complete but uncommitted, so
  // that all find the same checkpoints; from then on no earlier session commits. kConflict: a later
  // session of this run has claimed.
  base::Result<std::uint64_t> claim(const Session& session);
  // Begins a new attempt to save `step` by all of `writers`: writes its INTENT. kConflict: a later
  // generation was admitted.
  base::Result<AttemptId> begin(std::uint64_t step, std::uint64_t generation,
                                const WorldLayout& layout, std::vector<std::string> writers);
  // Creates the attempt, or joins it if it exists. kConflict: the attempt has another layout or
  // other writers, it is already committed or removed, or a later generation was admitted.
  base::Status join(const AttemptId& attempt, const WorldLayout& layout,
                    std::vector<std::string> writers);
  // Writes and publishes the part of `writer`. Returns harmless faults: mounts that failed and were
  // not used.
  base::Result<std::vector<std::string>> write_part(const AttemptId& attempt,
                                                    const std::string& writer,
                                                    const PartContents& contents);
  // The two halves of write_part(). In between, a caller can check that its sources did not change.
  base::Result<PreparedPart> write_data(const AttemptId& attempt, const std::string& writer,
                                        const PartContents& contents);
  base::Status publish_part(const PreparedPart& prepared);
  // Whether the writer's part is published.
  base::Result<bool> has_part(const AttemptId& attempt, const std::string& writer) const;
  // Commits an attempt whose parts are all published. `generation`: that of the caller, which is
  // higher than the attempt's if the caller salvages the attempt. kLimit: the manifest would be
  // longer than readers accept.
  base::Result<Committed> commit(const AttemptId& attempt, std::uint64_t generation);
  // Every writer calls this after its write_part(); the last call commits.
  base::Result<Completion> commit_if_complete(const AttemptId& attempt, std::uint64_t generation);
  // Commits every attempt that is complete and can be read back whole but lacks its MANIFEST,
  // unless a job can already start from a save of the same generation and of the same or a later
  // step.
  base::Result<std::vector<Committed>> salvage(std::uint64_t generation);

  [[nodiscard]] std::vector<std::string> directories() const;  // of the mounts
  // From now on, data and parity are written no faster than this. The initial value is 0: no limit.
  // Another thread may call this during a save.
  void limit_writes(std::uint64_t bytes_per_s) { rate_->limit(bytes_per_s); }

 private:
  Store(StoreOptions options, std::unique_ptr<MountThreads> threads, DataWriter writer);
  [[nodiscard]] const std::string& home() const { return options_.mounts.front().path; }
  [[nodiscard]] std::string at_home(const AttemptId& attempt) const;
  // Called before this thread accesses the home itself. ETIMEDOUT: the home does not answer.
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
  // The bytes of a part or of the manifest. kLimit: no reader would accept them.
  [[nodiscard]] base::Result<std::string> readable_bytes(Document document,
                                                         const Manifest& manifest) const;
  base::Result<Manifest> gather_parts(const AttemptId& attempt) const;
  // Both require the home's lock.
  base::Result<Committed> publish(Manifest manifest);
  base::Result<std::vector<Committed>> salvage_all(std::vector<FoundAttempt> all);

  StoreOptions options_;  // `disk` points to guarded_
  std::unique_ptr<MountThreads> threads_;
  Disk* unguarded_;
  std::unique_ptr<GuardedDisk> guarded_;
  DataWriter writer_;
  std::unique_ptr<WriteRate> rate_;
  std::uint32_t rows_ = 0;  // parity members per group
  std::optional<ParityWriter> parity_;
};

}  // namespace robustrun::checkpoint
