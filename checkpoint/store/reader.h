#pragma once
// Reads a checkpoint. No byte is handed out whose CRC was not right; what is damaged or missing is
// put together again from parity where there is some. Only reads; one call at a time.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/parity/rebuild.h"
#include "checkpoint/store/bulk_reader.h"
#include "checkpoint/store/read_plan.h"

namespace robustrun::checkpoint {

struct ReadOptions {
  IoWay io = IoWay::kAuto;
  std::chrono::milliseconds patience = kPatience;  // a mount that takes longer for a call is stuck
  bool local_first = false;  // what is on a disk of this machine and elsewhere, too
};

class CheckpointReader {
 public:
  // `folders`: of the attempt, on all its mounts; files are looked for by name in each of them. The
  // folders where they were when it was saved are looked at last. A file on another machine's own
  // disk is kUnavailable; no file of that name is on a disk of this one (a writer of an attempt is
  // on one machine, and the attempt's token is its own).
  static CheckpointReader open(Manifest manifest, std::vector<std::string> folders,
                               ReadOptions options = {});

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  // Any bytes of shards, all at once: every block of a file is read once, however many want bytes
  // of it. kInvalidArgument: a request beyond its shard, found before anything is read. kCorrupt
  // names tensor, file and place, as kUnavailable does (EIO); ETIMEDOUT the mount that does not
  // answer. On failure no destination holds anything to be used.
  base::Status read(std::span<const ReadRequest> requests);
  // All of one shard, into Shard::bytes of room.
  base::Status read_shard(std::size_t shard, std::span<char> destination);
  // All of one piece of a shard, by the piece's own CRC: what lies beside it does not matter.
  base::Status read_piece(std::size_t shard, std::size_t piece, std::span<char> destination);
  // Reads everything, headers, padding and parity too; a sentence for each fault, none when all is
  // right. Parity is not used. `away`: files on other machines' own disks are told there, and are
  // no faults; null: they are.
  std::vector<std::string> verify(std::vector<std::string>* away = nullptr);
  // For each shard whether its files can be found here, going by their names alone.
  std::vector<bool> present_shards();
  // Bytes of a file, verified by the CRCs of its header and blocks, from parity where `rebuild`
  // allows it.
  base::Result<std::string> read_file(std::size_t file, std::uint64_t begin, std::uint64_t bytes,
                                      bool rebuild);
  // Files were written anew, or are elsewhere now.
  void look_again() { found_.assign(found_.size(), {}); }
  // What had to be put together from parity so far, a sentence each.
  [[nodiscard]] const std::vector<std::string>& rescued() const { return rescued_; }

 private:
  CheckpointReader(Manifest manifest, std::vector<std::string> folders, ReadOptions options);
  MountThreads& threads();
  // Where the file is; kNotFound and kCorrupt (another size) say what was found instead.
  base::Result<ReadSource> source(std::size_t file);
  base::Result<std::string> read_bytes(std::size_t file, std::uint64_t offset, std::uint64_t bytes);
  base::Result<std::string> read_unit(std::size_t file, std::uint64_t begin, std::uint64_t end,
                                      std::uint32_t crc, bool rebuild);
  base::Status read_again(const ReadRun& run, const ReadFault& fault);
  // From now on the file is read from another place than so far; false: there is none.
  bool look_elsewhere(std::size_t file);
  [[nodiscard]] std::vector<std::size_t> places_of(const DataFile& file) const;
  void verify_header(std::size_t file, std::vector<std::string>& faults);
  [[nodiscard]] std::string tensors_at(std::size_t file, std::uint64_t begin,
                                       std::uint64_t end) const;

  Manifest manifest_;
  std::vector<std::string> folders_;
  ReadOptions options_;
  std::vector<ReadSource> found_;  // by the manifest's files; path is empty: not yet
  std::set<std::pair<std::size_t, std::size_t>> bad_;  // file, and the folder where it is damaged
  std::unique_ptr<MountThreads> threads_;  // made when first wanted
  std::unique_ptr<BulkReader> bulk_;
  std::optional<Rebuilder> rebuilder_;  // made when first needed
  std::vector<std::string> rescued_;
};

}  // namespace robustrun::checkpoint
