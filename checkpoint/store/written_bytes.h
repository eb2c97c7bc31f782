#pragma once
// The contents of data files that were just written, taken from the memory from which they were
// written.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

class WrittenBytes {
 public:
  // `headers`: one per file. `sources`: the bytes of each shard; Shard::pieces says where they lie
  // in the files. All of them must outlive this object.
  WrittenBytes(std::span<const DataFile> files, std::span<const std::string> headers,
               std::span<const Shard> shards, std::span<const std::string_view> sources);
  // One of the parts written to [offset, offset + bytes) of a file. Between the parts are zeros.
  struct Part {
    std::uint64_t at = 0;  // relative to `offset`
    std::string_view bytes;
  };
  [[nodiscard]] std::vector<Part> parts(std::uint32_t file, std::uint64_t offset,
                                        std::uint64_t bytes) const;

 private:
  struct Range {
    std::uint64_t offset = 0;
    std::string_view bytes;
  };
  std::vector<std::vector<Range>> ranges_;  // by file, by offset
};

}  // namespace robustrun::checkpoint
