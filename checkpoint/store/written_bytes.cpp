#include "checkpoint/store/written_bytes.h"

#include <algorithm>

#include "base/core/result.h"

namespace robustrun::checkpoint {

WrittenBytes::WrittenBytes(std::span<const DataFile> files, std::span<const std::string> headers,
                           std::span<const Shard> shards, std::span<const std::string_view> sources)
    : ranges_(files.size()) {
  RR_ASSERT(headers.size() == files.size() && sources.size() == shards.size());
  for (std::size_t i = 0; i < files.size(); ++i) ranges_[i].push_back({0, headers[i]});
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::string_view left = sources[i];
    for (const Piece& piece : shards[i].pieces) {
      ranges_[piece.file].push_back({piece.offset, left.substr(0, piece.bytes)});
      left.remove_prefix(piece.bytes);
    }
  }
  for (auto& ranges : ranges_) std::ranges::sort(ranges, {}, &Range::offset);
}

std::vector<WrittenBytes::Part> WrittenBytes::parts(std::uint32_t file, std::uint64_t offset,
                                                    std::uint64_t bytes) const {
  std::vector<Part> parts;
  const auto& ranges = ranges_[file];
  auto next = std::ranges::upper_bound(
      ranges, offset, {}, [](const Range& range) { return range.offset + range.bytes.size(); });
  for (const std::uint64_t end = offset + bytes; next != ranges.end() && next->offset < end;
       ++next) {
    const std::uint64_t start = std::max(next->offset, offset);
    if (next->bytes.empty()) continue;
    parts.push_back({start - offset, next->bytes.substr(start - next->offset, end - start)});
  }
  return parts;
}

}  // namespace robustrun::checkpoint
