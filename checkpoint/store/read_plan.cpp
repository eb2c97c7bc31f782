#include "checkpoint/store/read_plan.h"

#include <algorithm>

#include "base/core/result.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

struct FileCopy {
  std::uint32_t file = 0;
  ReadCopy copy;
};

std::vector<FileCopy> copies_of(const Manifest& manifest, std::span<const ReadRequest> requests) {
  std::vector<FileCopy> copies;
  for (const ReadRequest& request : requests) {
    RR_ASSERT(request.shard < manifest.shards.size());
    const Shard& shard = manifest.shards[request.shard];
    const std::uint64_t end = request.begin + request.destination.size();
    RR_ASSERT(request.begin <= shard.bytes && end >= request.begin && end <= shard.bytes);
    std::uint64_t at = 0;  // offset of the piece within the shard
    for (std::size_t i = 0; i < shard.pieces.size() && at < end; ++i) {
      const Piece& piece = shard.pieces[i];
      const std::uint64_t from = std::max(at, request.begin);
      const std::uint64_t to = std::min(at + piece.bytes, end);
      if (from < to) {
        copies.push_back({piece.file,
                          {request.shard, i, piece.offset + (from - at),
                           request.destination.subspan(from - request.begin, to - from)}});
      }
      at += piece.bytes;
    }
  }
  std::ranges::sort(copies, [](const FileCopy& a, const FileCopy& b) {
    return std::pair(a.file, a.copy.offset) < std::pair(b.file, b.copy.offset);
  });
  return copies;
}

ReadRun run_at(const Manifest& manifest, std::uint32_t file, std::size_t block) {
  return {file, manifest.files[file].header_bytes + block * kBlockBytes, 0, block, {}};
}

}  // namespace

std::vector<ReadRun> plan_reads(const Manifest& manifest, std::span<const ReadRequest> requests) {
  std::vector<ReadRun> runs;
  for (auto& [file, whole] : copies_of(manifest, requests)) {
    const DataFile& data = manifest.files[file];
    ReadCopy copy = whole;
    // Only the last run can be extended. A copy that overlaps an earlier run is read again.
    while (!copy.destination.empty()) {
      const std::size_t block = (copy.offset - data.header_bytes) / kBlockBytes;
      const bool follows = !runs.empty() && runs.back().file == file &&
                           block >= runs.back().first_block &&
                           block <= runs.back().first_block + runs.back().bytes / kBlockBytes &&
                           block < runs.back().first_block + kExtentBytes / kBlockBytes;
      if (!follows) runs.push_back(run_at(manifest, file, block));
      ReadRun& run = runs.back();
      const std::uint64_t most = run.offset + kExtentBytes - copy.offset;
      const auto part = std::min<std::uint64_t>(most, copy.destination.size());
      const std::size_t last = (copy.offset + part - 1 - data.header_bytes) / kBlockBytes;
      const std::uint64_t end = data.header_bytes + (last + 1) * kBlockBytes;
      run.bytes = std::max(run.bytes, std::min(end, data.bytes) - run.offset);
      run.copies.push_back({copy.shard, copy.piece, copy.offset, copy.destination.first(part)});
      copy.offset += part;
      copy.destination = copy.destination.subspan(part);
    }
  }
  return runs;
}

std::vector<ReadRun> plan_all_blocks(const Manifest& manifest) {
  std::vector<ReadRun> runs;
  for (std::uint32_t file = 0; file < manifest.files.size(); ++file) {
    const DataFile& data = manifest.files[file];
    constexpr std::size_t kBlocks = kExtentBytes / kBlockBytes;
    for (std::size_t block = 0; block < data.block_crcs.size(); block += kBlocks) {
      runs.push_back(run_at(manifest, file, block));
      runs.back().bytes = std::min(kExtentBytes, data.bytes - runs.back().offset);
    }
  }
  return runs;
}

}  // namespace robustrun::checkpoint
