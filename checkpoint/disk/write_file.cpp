#include "checkpoint/disk/write_file.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

// Fills one block of the file's data and returns its CRC, joined from those of the pieces in it:
// each byte is read once, however many pieces there are.
class BlockGatherer {
 public:
  BlockGatherer(const WriteShare& share, WorkerResult& result) : share_(share), result_(result) {}

  std::uint32_t gather(std::uint64_t begin, std::uint64_t end, char* memory) {
    const auto& pieces = share_.file->pieces;
    auto next = std::ranges::upper_bound(
        pieces, begin, {}, [](const PlannedPiece& p) { return p.offset + p.slice.bytes; });
    std::uint32_t crc = 0;
    std::uint64_t at = begin;
    while (at < end) {
      const std::uint64_t start = next == pieces.end() ? end : std::min(end, next->offset);
      if (start > at) {
        std::memset(memory, 0, start - at);
        crc = crc32c({memory, start - at}, crc);
        memory += start - at;
        at = start;
        continue;
      }
      const std::uint64_t bytes = std::min(end, next->offset + next->slice.bytes) - at;
      const std::uint64_t within = at - next->offset;
      const char* source = share_.sources[next->slice.shard].data() + next->slice.begin + within;
      std::memcpy(memory, source, bytes);
      const std::uint32_t part = crc32c({memory, bytes});
      crc = at == begin ? part : crc32c_joined(crc, part, bytes);
      const auto index = static_cast<std::uint32_t>(next - pieces.begin());
      result_.pieces.push_back({index, within, bytes, part});
      memory += bytes;
      at += bytes;
      ++next;
    }
    return crc;
  }

 private:
  const WriteShare& share_;
  WorkerResult& result_;
};

// Returns false if the write failed or was given up.
bool write_extent(const WriteShare& share, std::uint64_t offset, std::size_t bytes,
                  WorkerResult& result) {
  if (share.rate != nullptr) share.rate->take(bytes);
  share.sign->enter();
  result.status = share.output->write(offset, {share.memory, bytes});
  result.given_up = !share.sign->leave();
  return result.status && !result.given_up;
}

bool write_header(const WriteShare& share, WorkerResult& result) {
  const std::string& header = share.file->header;
  for (std::size_t at = 0; at < header.size(); at += kExtentBytes) {
    const std::size_t bytes = std::min<std::size_t>(kExtentBytes, header.size() - at);
    std::memcpy(share.memory, header.data() + at, bytes);
    if (!write_extent(share, at, bytes, result)) return false;
  }
  return true;
}

}  // namespace

WorkerResult write_share(const WriteShare& share) {
  WorkerResult result;
  if (share.worker == 0 && !write_header(share, result)) return result;
  BlockGatherer gatherer(share, result);
  const std::uint64_t stride = kExtentBytes * share.workers;
  for (std::uint64_t begin = kExtentBytes * share.worker;
       begin < share.file->data_bytes && !*share.failed; begin += stride) {
    const std::uint64_t end = std::min(begin + kExtentBytes, share.file->data_bytes);
    for (std::uint64_t block = begin; block < end; block += kBlockBytes) {
      const std::uint32_t crc = gatherer.gather(block, std::min(block + kBlockBytes, end),
                                                share.memory + (block - begin));
      result.blocks.emplace_back(block / kBlockBytes, crc);
    }
    if (!write_extent(share, share.file->header.size() + begin, end - begin, result)) break;
  }
  return result;
}

WrittenFile join_results(const PlannedFile& plan, std::span<WorkerResult> results) {
  WrittenFile written;
  written.file.mount = plan.mount;
  written.file.header_bytes = plan.header.size();
  written.file.header_crc = crc32c(plan.header);
  written.file.bytes = plan.header.size() + plan.data_bytes;
  written.file.block_crcs.resize((plan.data_bytes + kBlockBytes - 1) / kBlockBytes);
  written.piece_crcs.resize(plan.pieces.size());
  std::vector<PieceCrc> parts;
  for (WorkerResult& result : results) {
    for (const auto& [block, crc] : result.blocks) written.file.block_crcs[block] = crc;
    parts.insert(parts.end(), result.pieces.begin(), result.pieces.end());
  }
  std::ranges::sort(parts, [](const PieceCrc& a, const PieceCrc& b) {
    return std::pair(a.piece, a.begin) < std::pair(b.piece, b.begin);
  });
  for (const PieceCrc& part : parts) {
    std::uint32_t& crc = written.piece_crcs[part.piece];
    crc = crc32c_joined(crc, part.crc, part.bytes);
  }
  return written;
}

}  // namespace robustrun::checkpoint
