// Whether the parts of a manifest agree: nobody who uses one needs to look again.

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/dtype.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/manifest.h"

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
    if (!plain_name(file.name)) return contradiction("no name of a file is", file.name);
    if (!names.insert(file.name).second) return contradiction("two files are", file.name);
    if (file.mount >= manifest.head.mounts.size()) return contradiction("no mount for", file.name);
    if (file.header_bytes > file.bytes || file.header_bytes > kHeaderBytesMax) {
      return contradiction("the header is too long of", file.name);
    }
    const std::uint64_t data = file.bytes - file.header_bytes;
    const std::uint64_t blocks = data / kBlockBytes + (data % kBlockBytes != 0 ? 1 : 0);
    if (file.block_crcs.size() != blocks) return contradiction("blocks without CRC in", file.name);
  }
  return {};
}

}  // namespace

Status check_box(const Shard& shard, std::uint32_t world_size) {
  if (shard.shape.size() != shard.global_shape.size() ||
      shard.offsets.size() != shard.global_shape.size()) {
    return contradiction("dimensions are missing of", shard.name);
  }
  for (std::size_t i = 0; i < shard.shape.size(); ++i) {
    if (shard.shape[i] > shard.global_shape[i] ||
        shard.offsets[i] > shard.global_shape[i] - shard.shape[i]) {
      return contradiction("it lies outside of its tensor,", shard.name);
    }
  }
  std::uint64_t elements = 0;
  if (!product(shard.shape, elements)) return contradiction("too many elements in", shard.name);
  std::uint64_t bytes = 0;
  const std::uint64_t each = element_bytes(shard.dtype);
  if (each != 0 && (__builtin_mul_overflow(elements, each, &bytes) || bytes != shard.bytes)) {
    return contradiction("shape and bytes differ of", shard.name);
  }
  if (shard.rank >= world_size) return contradiction("no rank for", shard.name);
  return {};
}

namespace {

Status check_pieces(const Manifest& manifest, const Shard& shard) {
  std::uint64_t sum = 0;
  std::uint32_t crc = 0;
  for (const Piece& piece : shard.pieces) {
    if (piece.file >= manifest.files.size() || piece.bytes == 0) {
      return contradiction("a piece without a place of", shard.name);
    }
    const DataFile& file = manifest.files[piece.file];
    if (piece.offset < file.header_bytes || piece.offset > file.bytes ||
        piece.bytes > file.bytes - piece.offset) {
      return contradiction("a piece outside of its file of", shard.name);
    }
    if (__builtin_add_overflow(sum, piece.bytes, &sum))
      return contradiction("sizes of", shard.name);
    crc = crc32c_joined(crc, piece.crc, piece.bytes);
  }
  if (sum != shard.bytes) return contradiction("bytes are missing of", shard.name);
  if (crc != shard.crc) return contradiction("the CRCs of pieces are not that of", shard.name);
  return {};
}

Status check_group(const Manifest& manifest, const ParityGroup& group) {
  if (group.data.empty() || group.parity.empty() ||
      group.data.size() + group.parity.size() > kGroupMembersMax) {
    return contradiction("members of a parity group", "");
  }
  std::uint64_t longest = 0;
  for (const auto* members : {&group.data, &group.parity}) {
    for (const ParityMember& member : *members) {
      if (member.file >= manifest.files.size()) return contradiction("no file for parity", "");
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
      return contradiction("no parity is in", manifest.files[parity.file].name);
    }
  }
  return {};
}

Status check_head(const Manifest& manifest) {
  const std::string& token = manifest.head.attempt.token;
  if (token.empty() || token.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return contradiction("no token of an attempt is", token);
  }
  for (const std::string& writer : manifest.head.writers) {
    if (!plain_name(writer)) return contradiction("no name of a writer is", writer);
  }
  for (const RankState& state : manifest.states) {
    if (state.rank >= manifest.head.layout.world_size) {
      return contradiction("no rank for the state", state.name);
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
    return contradiction("memory has no files, but", manifest.head.attempt.token);
  }
  for (const Shard& shard : manifest.shards) {
    RR_TRY(check_box(shard, manifest.head.layout.world_size));
    if (!shard.pieces.empty()) return contradiction("memory has no pieces, but", shard.name);
  }
  return {};
}

}  // namespace robustrun::checkpoint
