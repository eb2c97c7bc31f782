#pragma once
// Reads a checkpoint. Returns only bytes with a correct CRC; damaged or missing bytes are rebuilt
// from parity if there is any. Changes nothing on disk. One call at a time.

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
  bool local_first = false;  // prefer local disks for files that are elsewhere too
};

class CheckpointReader {
 public:
  // `folders`: the attempt's folders on all its mounts. Files are looked up by name in each of
  // them, and then on the manifest's other mounts. Reading a file that is only on another machine's
  // local disk fails with kUnavailable.
  static CheckpointReader open(Manifest manifest, std::vector<std::string> folders,
                               ReadOptions options = {});

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  // Reads any bytes of shards. Each block of a file is read only once, unless requests overlap or
  // the block is damaged. kInvalidArgument: a request exceeds its shard (checked before anything is
  // read). kNotFound, kCorrupt and kUnavailable (EIO) name the tensor and the file; ETIMEDOUT names
  // the mount that does not answer. After an error no destination may be used.
  base::Status read(std::span<const ReadRequest> requests);
  // Reads a whole shard. `destination` is as long as the shard.
  base::Status read_shard(std::size_t shard, std::span<char> destination);
  // Reads a whole piece and checks the piece's own CRC, so that damage elsewhere in its blocks does
  // not matter. `destination` is as long as the piece.
  base::Status read_piece(std::size_t shard, std::size_t piece, std::span<char> destination);
  // Reads everything, including headers, padding and parity, and rebuilds nothing. Returns one
  // sentence per fault; empty if everything is sound. `away` receives a sentence for each file on
  // the local disk of another machine; if null, these count as faults.
  std::vector<std::string> verify(std::vector<std::string>* away = nullptr);
  // For each shard, whether all its files that were saved to local disks can be found here, judged
  // by their names only. Files that were saved to shared storage count as present.
  std::vector<bool> present_shards();
  // Reads bytes of a file, verified by the CRCs of its header and blocks; rebuilds them from parity
  // if `rebuild` is true.
  base::Result<std::string> read_file(std::size_t file, std::uint64_t begin, std::uint64_t bytes,
                                      bool rebuild);
  // Forgets where files are, after files were rewritten or moved. Does not forget in which places
  // read() found a file damaged.
  void look_again() { found_.assign(found_.size(), {}); }
  // What had to be rebuilt from parity so far, one sentence each.
  [[nodiscard]] const std::vector<std::string>& rescued() const { return rescued_; }

 private:
  CheckpointReader(Manifest manifest, std::vector<std::string> folders, ReadOptions options);
  MountThreads& threads();
  // Finds the file. kNotFound: it is in no folder. kCorrupt: it has another size.
  base::Result<ReadSource> source(std::size_t file);
  base::Result<std::string> read_bytes(std::size_t file, std::uint64_t offset, std::uint64_t bytes);
  base::Result<std::string> read_unit(std::size_t file, std::uint64_t begin, std::uint64_t end,
                                      std::uint32_t crc, bool rebuild);
  base::Status read_again(const ReadRun& run, const ReadFault& fault);
  // Switches to another place of the file; false: there is no other.
  bool look_elsewhere(std::size_t file);
  [[nodiscard]] std::vector<std::size_t> places_of(const DataFile& file) const;
  void verify_header(std::size_t file, std::vector<std::string>& faults);
  [[nodiscard]] std::string tensors_at(std::size_t file, std::uint64_t begin,
                                       std::uint64_t end) const;

  Manifest manifest_;
  std::vector<std::string> folders_;
  ReadOptions options_;
  std::vector<ReadSource> found_;  // one per file of the manifest; empty path: not located yet
  std::set<std::pair<std::size_t, std::size_t>> bad_;  // (file, folder in which it is damaged)
  std::unique_ptr<MountThreads> threads_;  // created on first use
  std::unique_ptr<BulkReader> bulk_;
  std::optional<Rebuilder> rebuilder_;  // created on first use
  std::vector<std::string> rescued_;
};

}  // namespace robustrun::checkpoint
