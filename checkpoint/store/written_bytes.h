#pragma once
// What is in data files that were just written, from the memory that it came from.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

class WrittenBytes {
 public:
  // `headers`: as many as `files`; `shards` with their pieces, `sources` as many. All of them
  // outlive this.
  WrittenBytes(std::span<const DataFile> files, std::span<const std::string> headers,
               std::span<const Shard> shards, std::span<const std::string_view> sources);
  // What was put into [offset, offset + bytes) of a file; zeros are between.
  struct Part {
    std::uint64_t at = 0;  // from `offset`
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
