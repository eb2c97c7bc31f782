#include "checkpoint/format/manifest_check.h"

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/dtype.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Status;

std::unexpected<base::Error> contradiction(std::string_view what, std::string_view name) {
  return fail(Errc::kCorrupt, "the manifest contradicts itself: " + std::string(what) + " '" +
                                  base::printable(name) + "'");
}

// A name that stays within its folder.
bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

Status check_files(const Manifest& manifest) {
  std::set<std::string_view> names;
  for (const DataFile& file : manifest.files) {
    if (!plain_name(file.name)) return contradiction("invalid file name", file.name);
    if (!names.insert(file.name).second) return contradiction("duplicate file name", file.name);
    if (file.mount >= manifest.head.mounts.size())
      return contradiction("no mount for file", file.name);
    if (file.header_bytes > file.bytes || file.header_bytes > kHeaderBytesMax) {
      return contradiction("too long a header in", file.name);
    }
    const std::uint64_t data = file.bytes - file.header_bytes;
    const std::uint64_t blocks = data / kBlockBytes + (data % kBlockBytes != 0 ? 1 : 0);
    if (file.block_crcs.size() != blocks)
      return contradiction("wrong number of block CRCs in", file.name);
  }
  return {};
}

}  // namespace

Status check_box(const Shard& shard, std::uint32_t world_size) {
  if (shard.shape.size() != shard.global_shape.size() ||
      shard.offsets.size() != shard.global_shape.size()) {
    return contradiction("mismatched dimensions of", shard.name);
  }
  for (std::size_t i = 0; i < shard.shape.size(); ++i) {
    if (shard.shape[i] > shard.global_shape[i] ||
        shard.offsets[i] > shard.global_shape[i] - shard.shape[i]) {
      return contradiction("a shard outside of tensor", shard.name);
    }
  }
  std::uint64_t elements = 0;
  if (!product(shard.shape, elements)) return contradiction("too many elements in", shard.name);
  std::uint64_t bytes = 0;
  const std::uint64_t each = element_bytes(shard.dtype);
  if (each != 0 && (__builtin_mul_overflow(elements, each, &bytes) || bytes != shard.bytes)) {
    return contradiction("wrong number of bytes in", shard.name);
  }
  if (shard.rank >= world_size) return contradiction("rank out of range for", shard.name);
  return {};
}

namespace {

Status check_pieces(const Manifest& manifest, const Shard& shard) {
  std::uint64_t sum = 0;
  std::uint32_t crc = 0;
  for (const Piece& piece : shard.pieces) {
    if (piece.file >= manifest.files.size() || piece.bytes == 0) {
      return contradiction("invalid piece of", shard.name);
    }
    const DataFile& file = manifest.files[piece.file];
    if (piece.offset < file.header_bytes || piece.offset > file.bytes ||
        piece.bytes > file.bytes - piece.offset) {
      return contradiction("a piece outside of its file in", shard.name);
    }
    if (__builtin_add_overflow(sum, piece.bytes, &sum))
      return contradiction("sizes overflow in", shard.name);
    crc = crc32c_joined(crc, piece.crc, piece.bytes);
  }
  if (sum != shard.bytes) return contradiction("pieces do not cover", shard.name);
  if (crc != shard.crc) return contradiction("the CRCs of pieces do not match that of", shard.name);
  return {};
}

Status check_group(const Manifest& manifest, const ParityGroup& group) {
  if (group.data.empty() || group.parity.empty() ||
      group.data.size() + group.parity.size() > kGroupMembersMax) {
    return contradiction("invalid number of members in a parity group", "");
  }
  std::uint64_t longest = 0;
  for (const auto* members : {&group.data, &group.parity}) {
    for (const ParityMember& member : *members) {
      if (member.file >= manifest.files.size()) return contradiction("no such file for parity", "");
      const DataFile& file = manifest.files[member.file];
      if (member.bytes == 0 || member.bytes > kExtentBytes || member.offset > file.bytes ||
          member.bytes > file.bytes - member.offset) {
        return contradiction("parity outside of", file.name);
      }
      longest = std::max(longest, member.bytes);
    }
  }
  for (const ParityMember& parity : group.parity) {
    if (parity.bytes != longest || manifest.files[parity.file].header_bytes != 0) {
      return contradiction("invalid parity in", manifest.files[parity.file].name);
    }
  }
  return {};
}

Status check_head(const Manifest& manifest) {
  const std::string& token = manifest.head.attempt.token;
  if (token.empty() || token.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return contradiction("invalid attempt token", token);
  }
  for (const std::string& writer : manifest.head.writers) {
    if (!plain_name(writer)) return contradiction("invalid writer name", writer);
  }
  for (const RankState& state : manifest.states) {
    if (state.rank >= manifest.head.layout.world_size) {
      return contradiction("rank out of range for state", state.name);
    }
  }
  return {};
}

}  // namespace

Status check_consistent(const Manifest& manifest) {
  RR_TRY(check_head(manifest));
  RR_TRY(check_files(manifest));
  for (const Shard& shard : manifest.shards) {
    RR_TRY(check_box(shard, manifest.head.layout.world_size));
    RR_TRY(check_pieces(manifest, shard));
  }
  for (const ParityGroup& group : manifest.groups) RR_TRY(check_group(manifest, group));
  return {};
}

Status check_memory_copy(const Manifest& manifest) {
  RR_TRY(check_head(manifest));
  if (!manifest.files.empty() || !manifest.groups.empty()) {
    return contradiction("unexpected files in the copy in memory of", manifest.head.attempt.token);
  }
  for (const Shard& shard : manifest.shards) {
    RR_TRY(check_box(shard, manifest.head.layout.world_size));
    if (!shard.pieces.empty()) return contradiction("unexpected pieces of", shard.name);
  }
  return {};
}

}  // namespace robustrun::checkpoint
