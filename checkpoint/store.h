#pragma once
// Checkpoints in directories: how one comes to be. The protocol, step by step, and what a crash
// leaves behind at each: docs/checkpoint-format.md. Everything of a checkpoint is written and
// synced before its MANIFEST is renamed into place in the home directory; that rename is the
// commit.
//
// begin() once, write_part() once for each writer, commit() once. Every call names a generation;
// after admit(g) nothing of an older one commits. One call at a time on one Store; several
// processes may use the same directories.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "checkpoint/data_writer.h"
#include "checkpoint/disk.h"
#include "checkpoint/manifest.h"

namespace robustrun::checkpoint {

struct Mount {
  std::string path;   // there already
  double weight = 1;  // its share of the data: its bandwidth, in any unit
};

struct StoreOptions {
  std::vector<Mount> mounts;  // the first is the home: control files
  std::uint32_t workers_per_mount = 2;
  Disk* disk = nullptr;             // null: the real one
  const base::Clock* clock = nullptr;  // null: the system's
};

// What one writer (a node) saves. Sources must stay as they are until write_part() returns.
struct PartContents {
  std::vector<Shard> shards;              // without pieces and CRCs
  std::vector<std::string_view> sources;  // as many
  std::vector<RankState> states;
};

struct Committed {
  Manifest manifest;
  std::string digest;
  std::vector<std::string> notes;  // what went wrong without harm: a copy, the hint
};

class Store {
 public:
  // The mounts' paths are made absolute; kNotFound when one is no directory.
  static base::Result<Store> open(StoreOptions options);

  // From now on only `generation` or a later one commits. kConflict: a later one was admitted.
  base::Status admit(std::uint64_t generation);
  base::Result<AttemptId> begin(std::uint64_t step, std::uint64_t generation,
                                const WorldLayout& layout, std::vector<std::string> writers);
  // Answers what went wrong without harm: mounts that failed and were done without.
  base::Result<std::vector<std::string>> write_part(const AttemptId& attempt,
                                                    const std::string& writer,
                                                    const PartContents& contents);
  // `generation`: of who commits; that of the attempt unless it is salvaged.
  base::Result<Committed> commit(const AttemptId& attempt, std::uint64_t generation);
  // Commits every attempt that is complete and verified and only lacks its MANIFEST.
  base::Result<std::vector<Committed>> salvage(std::uint64_t generation);

  [[nodiscard]] std::vector<std::string> directories() const;

 private:
  Store(StoreOptions options, DataWriter writer);
  [[nodiscard]] const std::string& home() const { return options_.mounts.front().path; }
  [[nodiscard]] std::string at_home(const AttemptId& attempt) const;
  base::Status check_fence(std::uint64_t generation) const;
  base::Status make_attempt(const std::string& mount, const AttemptId& attempt);
  base::Result<Manifest> gather_parts(const AttemptId& attempt) const;
  base::Result<Committed> publish(Manifest manifest, std::uint64_t generation);

  StoreOptions options_;
  DataWriter writer_;
};

// One after the other in the order of `parts`: mounts, files, shards and states.
[[nodiscard]] Manifest merged(Manifest intent, std::vector<Manifest> parts);

}  // namespace robustrun::checkpoint
