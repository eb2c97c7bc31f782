// magic (8) | u32 version | u32 zero | sections' bytes | index | u32 count | u32 CRC | end magic
// (8) The index has, for each section, u32 kind | u64 offset | u64 length | u32 CRC; the CRC at the
// end is of everything in front of the sections and of the index with its count.

#include "checkpoint/format/manifest.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/layout_codec.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/manifest_check.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

constexpr std::array<std::string_view, 4> kMagic = {"RRINTENT", "RRPARTIA", "RRMANIFE", "RRMEMORY"};
constexpr std::string_view kEndMagic = "RRCK-END";
constexpr std::size_t kStartBytes = 16;
constexpr std::size_t kIndexRowBytes = 24;
constexpr std::size_t kEndBytes = 16;
// A reader refuses a document that has a section of unknown kind, unless the kind has this bit.
constexpr std::uint32_t kMayBeSkipped = 1U << 31U;

// 5 and 7 are reserved for references to extents of older checkpoints and for compression.
enum SectionKind : std::uint32_t {
  kHead = 1,
  kFiles = 2,
  kShards = 3,
  kStates = 4,
  kGroups = 6 | kMayBeSkipped,
  kNodes = 8 | kMayBeSkipped
};

std::unexpected<base::Error> damaged(std::string_view cause) {
  return fail(Errc::kCorrupt, "the document is damaged: " + std::string(cause));
}

void put_sizes(ByteWriter& out, const std::vector<std::uint64_t>& sizes) {
  for (const std::uint64_t size : sizes) out.number(size);
}

std::string encode_head(const Head& head) {
  ByteWriter out;
  out.number(head.attempt.step);
  out.number(head.attempt.generation);
  out.text(head.attempt.token);
  out.number(head.sequence);
  out.number(head.wall_time_ns);
  put_layout(out, head.layout);
  put_names(out, head.mounts);
  put_names(out, head.writers);
  return out.take();
}

bool decode_head(std::string_view bytes, Head& head) {
  ByteReader in(bytes);
  head.attempt.step = in.number<std::uint64_t>();
  head.attempt.generation = in.number<std::uint64_t>();
  head.attempt.token = in.text(64);
  head.sequence = in.number<std::uint64_t>();
  head.wall_time_ns = in.number<std::uint64_t>();
  head.layout = layout_from(in);
  head.mounts = names_from(in, kMountsMax);
  head.writers = names_from(in, kWritersMax);
  return in.ended();
}

std::string encode_files(const std::vector<DataFile>& files) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(files.size()));
  for (const DataFile& file : files) {
    out.text(file.name);
    out.number(file.mount);
    out.number(file.bytes);
    out.number(file.header_bytes);
    out.number(file.header_crc);
    out.number(static_cast<std::uint32_t>(file.block_crcs.size()));
    for (const std::uint32_t crc : file.block_crcs) out.number(crc);
  }
  return out.take();
}

bool decode_files(std::string_view bytes, std::vector<DataFile>& files) {
  ByteReader in(bytes);
  files.resize(in.count(kFilesMax, 32));
  for (DataFile& file : files) {
    file.name = in.text(kNameBytesMax);
    file.mount = in.number<std::uint32_t>();
    file.bytes = in.number<std::uint64_t>();
    file.header_bytes = in.number<std::uint64_t>();
    file.header_crc = in.number<std::uint32_t>();
    file.block_crcs.resize(in.count(UINT32_MAX, 4));
    for (std::uint32_t& crc : file.block_crcs) crc = in.number<std::uint32_t>();
    if (!in.ok()) return false;
  }
  return in.ended();
}

std::string encode_shards(const std::vector<Shard>& shards) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(shards.size()));
  for (const Shard& shard : shards) {
    out.text(shard.name);
    out.text(shard.dtype);
    out.number(shard.rank);
    out.number(static_cast<std::uint32_t>(shard.shape.size()));
    put_sizes(out, shard.global_shape);
    put_sizes(out, shard.offsets);
    put_sizes(out, shard.shape);
    out.number(shard.bytes);
    out.number(shard.crc);
    out.number(static_cast<std::uint32_t>(shard.pieces.size()));
    for (const Piece& piece : shard.pieces) {
      out.number(piece.file);
      out.number(piece.offset);
      out.number(piece.bytes);
      out.number(piece.crc);
    }
  }
  return out.take();
}

bool decode_shards(std::string_view bytes, std::vector<Shard>& shards) {
  ByteReader in(bytes);
  shards.resize(in.count(kShardsMax, 32));
  for (Shard& shard : shards) {
    shard.name = in.text(kNameBytesMax);
    shard.dtype = in.text(64);
    shard.rank = in.number<std::uint32_t>();
    const std::size_t dimensions = in.count(kDimensionsMax, 24);
    for (auto* sizes : {&shard.global_shape, &shard.offsets, &shard.shape}) {
      sizes->resize(dimensions);
      for (std::uint64_t& size : *sizes) size = in.number<std::uint64_t>();
    }
    shard.bytes = in.number<std::uint64_t>();
    shard.crc = in.number<std::uint32_t>();
    shard.pieces.resize(in.count(UINT32_MAX, 24));
    for (Piece& piece : shard.pieces) {
      piece.file = in.number<std::uint32_t>();
      piece.offset = in.number<std::uint64_t>();
      piece.bytes = in.number<std::uint64_t>();
      piece.crc = in.number<std::uint32_t>();
    }
    if (!in.ok()) return false;
  }
  return in.ended();
}

bool sum_shards(std::string_view bytes, Summary& summary) {
  ByteReader in(bytes);
  summary.shards = in.count(kShardsMax, 32);
  for (std::uint64_t i = 0; i < summary.shards && in.ok(); ++i) {
    in.raw(in.count(kNameBytesMax, 1));
    in.raw(in.count(64, 1));  // its type
    in.raw(4);  // its rank
    in.raw(24 * in.count(kDimensionsMax, 24));
    summary.bytes += in.number<std::uint64_t>();
    in.raw(4);  // its CRC
    in.raw(24 * in.count(UINT32_MAX, 24));
  }
  return in.ended();
}

std::string encode_states(const std::vector<RankState>& states) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(states.size()));
  for (const RankState& state : states) {
    out.number(state.rank);
    out.text(state.name);
    out.text(state.bytes);
  }
  return out.take();
}

bool decode_states(std::string_view bytes, std::vector<RankState>& states) {
  ByteReader in(bytes);
  states.resize(in.count(kStatesMax, 12));
  for (RankState& state : states) {
    state.rank = in.number<std::uint32_t>();
    state.name = in.text(kNameBytesMax);
    state.bytes = in.text(kStateBytesMax);
    if (!in.ok()) return false;
  }
  return in.ended();
}

// Parity groups and the nodes of files are optional sections (bit 31 of their kinds).
std::string encode_groups(const std::vector<ParityGroup>& groups) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(groups.size()));
  for (const ParityGroup& group : groups) {
    for (const auto* members : {&group.data, &group.parity}) {
      out.number(static_cast<std::uint32_t>(members->size()));
      for (const ParityMember& member : *members) {
        out.number(member.file);
        out.number(member.offset);
        out.number(member.bytes);
      }
    }
  }
  return out.take();
}

bool decode_groups(std::string_view bytes, std::vector<ParityGroup>& groups) {
  ByteReader in(bytes);
  groups.resize(in.count(UINT32_MAX, 48));
  for (ParityGroup& group : groups) {
    for (auto* members : {&group.data, &group.parity}) {
      members->resize(in.count(kGroupMembersMax, 20));
      for (ParityMember& member : *members) {
        member.file = in.number<std::uint32_t>();
        member.offset = in.number<std::uint64_t>();
        member.bytes = in.number<std::uint64_t>();
      }
    }
    if (!in.ok()) return false;
  }
  return in.ended();
}

bool has_nodes(const std::vector<DataFile>& files) {
  return std::ranges::any_of(files, [](const DataFile& file) { return !file.node.empty(); });
}

// list of (text node, list of u32 files)
std::string encode_nodes(const std::vector<DataFile>& files) {
  std::map<std::string_view, std::vector<std::uint32_t>> nodes;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    if (!files[i].node.empty()) nodes[files[i].node].push_back(i);
  }
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(nodes.size()));
  for (const auto& [node, held] : nodes) {
    out.text(node);
    out.number(static_cast<std::uint32_t>(held.size()));
    for (const std::uint32_t file : held) out.number(file);
  }
  return out.take();
}

// Sets the node of files that were decoded before. Returns false if malformed or out of range.
bool decode_nodes(std::string_view bytes, std::vector<DataFile>& files) {
  ByteReader in(bytes);
  for (std::size_t left = in.count(kWritersMax, 8); left > 0 && in.ok(); --left) {
    const std::string node = in.text(kNodeNameBytesMax);
    for (std::size_t held = in.count(kFilesMax, 4); held > 0 && in.ok(); --held) {
      const auto file = in.number<std::uint32_t>();
      if (node.empty() || file >= files.size()) return false;
      files[file].node = node;
    }
  }
  return in.ended();
}

bool names_of_nodes(std::string_view bytes, std::vector<std::string>& nodes) {
  ByteReader in(bytes);
  for (std::size_t left = in.count(kWritersMax, 8); left > 0 && in.ok(); --left) {
    nodes.push_back(in.text(kNodeNameBytesMax));
    in.raw(4 * in.count(kFilesMax, 4));
  }
  return in.ended();
}

constexpr std::uint64_t kTailBytes = 4096;  // it contains the index, which has a row for each kind

struct IndexRow {
  std::uint32_t kind = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

Status check_size(std::uint64_t bytes) {
  if (bytes > kManifestBytesMax) return damaged("it is too long");
  if (bytes < kStartBytes + kEndBytes) return damaged("it is cut off");
  return {};
}

// Reads the index from the first kStartBytes of a document of `all` bytes and from its last bytes.
Result<std::vector<IndexRow>> read_index(Document document, std::string_view start,
                                         std::string_view bytes, std::uint64_t all) {
  if (start.substr(0, 8) != kMagic[static_cast<std::size_t>(document)]) {
    return damaged("its magic number is wrong");
  }
  if (const auto version = ByteReader(start.substr(8)).number<std::uint32_t>();
      version != kFormatVersion) {
    return fail(Errc::kUnavailable, "the document has format version " + std::to_string(version) +
                                        "; this robustrun reads version " +
                                        std::to_string(kFormatVersion));
  }
  ByteReader end(bytes.substr(bytes.size() - kEndBytes));
  const auto count = end.number<std::uint32_t>();
  const auto crc = end.number<std::uint32_t>();
  if (end.raw(8) != kEndMagic) return damaged("its end is missing");
  const std::size_t room = std::min<std::uint64_t>(all - kStartBytes, bytes.size()) - kEndBytes;
  if (count > room / kIndexRowBytes) return damaged("its index is cut off");
  const std::size_t index_bytes = count * kIndexRowBytes;
  const std::uint64_t index_at = all - kEndBytes - index_bytes;
  const std::string_view index = bytes.substr(bytes.size() - kEndBytes - index_bytes);
  if (crc32c(index.substr(0, index_bytes + 4), crc32c(start)) != crc) {
    return damaged("the checksum of its index is wrong");
  }
  ByteReader in(index.substr(0, index_bytes));
  std::vector<IndexRow> rows(count);
  std::uint64_t expected = kStartBytes;
  for (IndexRow& row : rows) {
    row.kind = in.number<std::uint32_t>();
    row.offset = in.number<std::uint64_t>();
    row.bytes = in.number<std::uint64_t>();
    row.crc = in.number<std::uint32_t>();
    if (row.offset != expected || row.bytes > index_at - expected)
      return damaged("a section is out of place");
    expected += row.bytes;
  }
  if (expected != index_at) return damaged("bytes that belong to no section");
  return rows;
}

Status check_section(const IndexRow& row, std::string_view bytes) {
  if (crc32c(bytes) == row.crc) return {};
  return damaged("the checksum of section " + std::to_string(row.kind) + " is wrong");
}

Status decode_section(const IndexRow& row, std::string_view bytes, Manifest& manifest) {
  RR_TRY(check_section(row, bytes));
  bool good = true;
  switch (row.kind) {
    case kHead: good = decode_head(bytes, manifest.head); break;
    case kFiles: good = decode_files(bytes, manifest.files); break;
    case kShards: good = decode_shards(bytes, manifest.shards); break;
    case kStates: good = decode_states(bytes, manifest.states); break;
    case kGroups: good = decode_groups(bytes, manifest.groups); break;
    case kNodes: good = decode_nodes(bytes, manifest.files); break;
    default:
      if ((row.kind & kMayBeSkipped) == 0) {
        return fail(Errc::kUnavailable, "the document needs section " + std::to_string(row.kind) +
                                            ", which this robustrun does not know");
      }
  }
  if (!good) return damaged("section " + std::to_string(row.kind) + " is malformed");
  return {};
}

// Index of a whole document: the head first, then the other sections in order.
Result<std::vector<IndexRow>> sections_of(Document document, std::string_view bytes) {
  RR_TRY(check_size(bytes.size()));
  std::vector<IndexRow> rows =
      RR_TRY(read_index(document, bytes.substr(0, kStartBytes), bytes, bytes.size()));
  if (rows.empty() || rows.front().kind != kHead) return damaged("it has no head");
  if (std::ranges::adjacent_find(rows, std::ranges::greater_equal{}, &IndexRow::kind) !=
      rows.end()) {
    return damaged("its sections are out of order");
  }
  return rows;
}

}  // namespace

std::string encode(Document document, const Manifest& manifest) {
  ByteWriter out;
  out.raw(kMagic[static_cast<std::size_t>(document)]);
  out.number(kFormatVersion);
  out.number(std::uint32_t{0});
  const std::uint32_t start_crc = crc32c(out.bytes());
  ByteWriter index;
  std::uint32_t count = 0;
  const auto add = [&](SectionKind kind, const std::string& bytes) {
    index.number(static_cast<std::uint32_t>(kind));
    index.number(std::uint64_t{out.bytes().size()});
    index.number(std::uint64_t{bytes.size()});
    index.number(crc32c(bytes));
    out.raw(bytes);
    ++count;
  };
  add(kHead, encode_head(manifest.head));
  add(kFiles, encode_files(manifest.files));
  add(kShards, encode_shards(manifest.shards));
  add(kStates, encode_states(manifest.states));
  if (!manifest.groups.empty()) add(kGroups, encode_groups(manifest.groups));
  if (has_nodes(manifest.files)) add(kNodes, encode_nodes(manifest.files));
  index.number(count);
  out.raw(index.bytes());
  out.number(crc32c(index.bytes(), start_crc));
  out.raw(kEndMagic);
  return out.take();
}

Result<Manifest> decode(Document document, std::string_view bytes) {
  Manifest manifest;
  for (const IndexRow& row : RR_TRY(sections_of(document, bytes))) {
    RR_TRY(decode_section(row, bytes.substr(row.offset, row.bytes), manifest));
  }
  RR_TRY(document == Document::kMemory ? check_memory_copy(manifest) : check_consistent(manifest));
  return manifest;
}

Result<Summary> summarize(Document document, std::string_view bytes) {
  Manifest manifest;
  Summary summary;
  for (const IndexRow& row : RR_TRY(sections_of(document, bytes))) {
    const std::string_view section = bytes.substr(row.offset, row.bytes);
    const bool is_table =
        (row.kind >= kFiles && row.kind <= kStates) || row.kind == kGroups || row.kind == kNodes;
    RR_TRY(is_table ? check_section(row, section) : decode_section(row, section, manifest));
    if (row.kind == kShards && !sum_shards(section, summary))
      return damaged("its shards are malformed");
    if (row.kind == kNodes && !names_of_nodes(section, summary.nodes))
      return damaged("its nodes are malformed");
  }
  summary.head = std::move(manifest.head);
  return summary;
}

Result<Head> read_head(Document document, std::uint64_t bytes, const ReadBytes& read) {
  RR_TRY(check_size(bytes));
  const std::string start = RR_TRY(read(0, kStartBytes));
  const std::uint64_t tail = std::min<std::uint64_t>(bytes, kTailBytes);
  const std::string end = RR_TRY(read(bytes - tail, tail));
  const std::vector<IndexRow> rows = RR_TRY(read_index(document, start, end, bytes));
  if (rows.empty() || rows.front().kind != kHead) return damaged("it has no head");
  const std::string head = RR_TRY(read(rows.front().offset, rows.front().bytes));
  Manifest manifest;
  RR_TRY(decode_section(rows.front(), head, manifest));
  return std::move(manifest.head);
}

}  // namespace robustrun::checkpoint
