#include "checkpoint/format/layout.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "checkpoint/format/dtype.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t row_bytes(const Shard& shard) {
  const std::uint64_t each = std::max<std::uint64_t>(1, element_bytes(shard.dtype));
  std::uint64_t elements = 1;
  if (shard.shape.empty() || !product(std::span(shard.shape).subspan(1), elements)) return each;
  const std::uint64_t row = elements * each;
  return row == 0 || row > kExtentBytes ? each : row;
}

// Greedy: which mount would finish this first?
class Spread {
 public:
  Spread(std::span<const MountSpace> mounts, std::size_t slices)
      : mounts_(mounts), ends_(mounts.size(), 0) {
    // A header entry has a name, numbers and punctuation; the estimate errs on the large side.
    header_ = rounded_up(slices * 256 + kAlignment, kAlignment);
  }

  // Chooses the mount and the offset in its data. Returns false if no mount has room.
  bool place(const Slice& slice, std::size_t name_bytes, std::uint32_t& mount,
             std::uint64_t& offset) {
    header_ += name_bytes * 4;
    const std::uint64_t unit = slice.bytes >= kBlockBytes ? kAlignment : kSmallAlignment;
    double best = 0;
    bool found = false;
    for (std::uint32_t i = 0; i < mounts_.size(); ++i) {
      if (!(mounts_[i].weight > 0)) continue;
      const std::uint64_t at = rounded_up(ends_[i], unit);
      if (at + slice.bytes + header_ + kAlignment > mounts_[i].free_bytes) continue;
      const double done = static_cast<double>(at + slice.bytes) / mounts_[i].weight;
      if (found && done >= best) continue;
      best = done;
      found = true;
      mount = i;
      offset = at;
    }
    if (found) ends_[mount] = offset + slice.bytes;
    return found;
  }

 private:
  std::span<const MountSpace> mounts_;
  std::vector<std::uint64_t> ends_;
  std::uint64_t header_ = 0;
};

// A whole tensor keeps its name; a part is called NAME@SHARD+BEGIN, a name that no whole tensor
// has.
HeaderEntry entry_of(const Shard& shard, const PlannedPiece& piece, bool only_one) {
  HeaderEntry entry{shard.name, shard.dtype, {}, piece.offset, piece.offset + piece.slice.bytes};
  const bool whole = piece.slice.bytes == shard.bytes && shard.shape == shard.global_shape;
  const bool plain = shard.name.find('@') == std::string::npos && !shard.name.starts_with("__");
  if (!whole || !only_one || !plain) {
    entry.name += '@' + std::to_string(piece.slice.shard) + '+' + std::to_string(piece.slice.begin);
  }
  const std::uint64_t each = element_bytes(shard.dtype);
  if (each == 0) {
    entry.dtype = "U8";
    entry.shape = {piece.slice.bytes};
  } else if (piece.slice.bytes == shard.bytes) {
    entry.shape = shard.shape;
  } else if (const std::uint64_t row = row_bytes(shard); row != each || shard.shape.size() == 1) {
    entry.shape = shard.shape;
    entry.shape.front() = piece.slice.bytes / row;
  } else {
    entry.shape = {piece.slice.bytes / each};
  }
  return entry;
}

void finish(std::span<const Shard> shards, const std::map<std::string_view, int>& uses,
            PlannedFile& file) {
  std::vector<HeaderEntry> entries;
  std::uint64_t end = 0;
  std::size_t pads = 0;
  const auto pad_to = [&](std::uint64_t at) {
    if (at == end) return;
    entries.push_back({"__pad_" + std::to_string(pads++), "U8", {at - end}, end, at});
    end = at;
  };
  for (const PlannedPiece& piece : file.pieces) {
    const Shard& shard = shards[piece.slice.shard];
    pad_to(piece.offset);
    entries.push_back(entry_of(shard, piece, uses.at(shard.name) == 1));
    end = entries.back().end;
  }
  pad_to(rounded_up(end, kAlignment));
  file.data_bytes = end;
  file.header = encode_header(entries);
}

}  // namespace

std::vector<Slice> slices_of(std::span<const Shard> shards) {
  std::vector<Slice> slices;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    const std::uint64_t row = row_bytes(shards[i]);
    const std::uint64_t most = kExtentBytes / row * row;
    for (std::uint64_t begin = 0; begin < shards[i].bytes; begin += most) {
      slices.push_back({i, begin, std::min(most, shards[i].bytes - begin)});
    }
  }
  return slices;
}

Result<std::vector<PlannedFile>> plan_files(std::span<const Shard> shards,
                                            std::span<const Slice> slices,
                                            std::span<const MountSpace> mounts) {
  std::map<std::string_view, int> uses;
  for (const Shard& shard : shards) ++uses[shard.name];
  std::vector<PlannedFile> files(mounts.size());
  Spread spread(mounts, slices.size());
  for (const Slice& slice : slices) {
    std::uint32_t mount = 0;
    std::uint64_t offset = 0;
    if (!spread.place(slice, shards[slice.shard].name.size(), mount, offset)) {
      std::uint64_t wanted = 0;
      std::uint64_t free = 0;
      for (const Slice& each : slices) wanted += each.bytes;
      for (const MountSpace& each : mounts) free += each.weight > 0 ? each.free_bytes : 0;
      return fail(Errc::kLimit, "cannot place " + std::to_string(wanted) +
                                    " bytes in whole blocks: only " + std::to_string(free) +
                                    " are free on the mounts; remove old checkpoints or add one");
    }
    files[mount].pieces.push_back({slice, offset});
  }
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    files[i].mount = i;
    if (!files[i].pieces.empty()) finish(shards, uses, files[i]);
  }
  std::erase_if(files, [](const PlannedFile& file) { return file.pieces.empty(); });
  return files;
}

}  // namespace robustrun::checkpoint
