#pragma once
// Reads a checkpoint. No byte is handed out whose CRC was not right. Only reads; one call at a
// time.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/manifest.h"

namespace robustrun::checkpoint {

class CheckpointReader {
 public:
  // `folders`: of the attempt, on all its mounts; files are looked for by name in each of them. The
  // folders where they were when it was saved are looked at last.
  static CheckpointReader open(Manifest manifest, std::vector<std::string> folders);

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  // The bytes of a shard into `destination`, which has Shard::bytes of room. kCorrupt names tensor,
  // file and place; then `destination` holds nothing to be used.
  base::Status read_shard(std::size_t shard, std::span<char> destination);
  // Reads everything, headers and padding too; a sentence for each fault, none when all is right.
  std::vector<std::string> verify();

 private:
  struct OpenFile {
    base::Fd fd;
    std::string path;
  };
  CheckpointReader(Manifest manifest, std::vector<std::string> folders);
  base::Result<const OpenFile*> file(std::size_t index);
  void verify_file(std::size_t index, std::vector<std::string>& faults);
  [[nodiscard]] std::string tensors_at(std::size_t file, std::uint64_t begin,
                                       std::uint64_t end) const;

  Manifest manifest_;
  std::vector<std::string> folders_;
  std::vector<OpenFile> files_;  // as in the manifest; opened when first wanted
};

}  // namespace robustrun::checkpoint
