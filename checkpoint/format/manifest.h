#pragma once
// What a checkpoint consists of: which shards of which tensors lie where in which files, with CRCs
// of all data. docs/checkpoint-format.md defines the format.
//
// All documents share one container format: sections with a CRC each, then an index. INTENT begins
// an attempt, each writer adds a part, and the MANIFEST commits the attempt. Decoding is bounded
// and checks everything that it returns: indices, sums, and that no range goes beyond its file.
// Pure.

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::checkpoint {

inline constexpr std::uint32_t kFormatVersion = 1;

// One attempt to save one step. `token` is random, or derived from the session and the save
// (attempt_token() in store/fence.h).
struct AttemptId {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  // of the session that saves (store/fence.h)
  std::string token;  // hex
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

struct Axis {
  std::string name;  // "dp", "tp", ...
  std::uint32_t size = 1;
  friend bool operator==(const Axis&, const Axis&) = default;
};

// The job's layout at the time of the save; the first axis varies slowest over the ranks.
struct WorldLayout {
  std::uint32_t world_size = 1;
  std::vector<Axis> axes;
  friend bool operator==(const WorldLayout&, const WorldLayout&) = default;
};

// A data file or a parity file. A data file begins with the header of a safetensors file; a parity
// file has no header. Then follow blocks of kBlockBytes, each with a CRC. The last block may be
// shorter.
struct DataFile {
  std::string name;  // without folder; unique within its attempt
  std::uint32_t mount = 0;  // index into Head::mounts
  std::uint64_t bytes = 0;  // the whole file
  std::uint64_t header_bytes = 0;
  std::uint32_t header_crc = 0;
  std::vector<std::uint32_t> block_crcs;
  std::string node{};  // the machine whose local disk holds the file; empty: on shared storage
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

// Consecutive bytes of a shard. The pieces of a shard are in order and cover it.
struct Piece {
  std::uint32_t file = 0;  // index into Manifest::files
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// A box of a tensor that one rank holds, row-major.
struct Shard {
  std::string name;
  std::string dtype;
  std::uint32_t rank = 0;
  std::vector<std::uint64_t> global_shape;
  std::vector<std::uint64_t> offsets;  // of the box; as many as global_shape
  std::vector<std::uint64_t> shape;  // of the box
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // of all its bytes
  std::vector<Piece> pieces;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// Named bytes to restore on one rank, such as the state of its data loader.
struct RankState {
  std::uint32_t rank = 0;
  std::string name;
  std::string bytes;
  friend bool operator==(const RankState&, const RankState&) = default;
};

// A range of a file that takes part in a parity group.
struct ParityMember {
  std::uint32_t file = 0;  // index into Manifest::files
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;
  friend bool operator==(const ParityMember&, const ParityMember&) = default;
};

// Data ranges and the parity computed from them (erasure_code.h). Every parity member is as long as
// the longest data member; shorter data members count as padded with zeros.
struct ParityGroup {
  std::vector<ParityMember> data;
  std::vector<ParityMember> parity;
  friend bool operator==(const ParityGroup&, const ParityGroup&) = default;
};

// What every document says about its attempt.
struct Head {
  AttemptId attempt;
  std::uint64_t sequence = 0;  // increases with every commit; 0: not committed yet
  std::uint64_t wall_time_ns = 0;  // since the Unix epoch; only for display
  WorldLayout layout;
  // The directories at the time of the save; the first is the home.
  std::vector<std::string> mounts;
  std::vector<std::string> writers;  // each writes one part
  friend bool operator==(const Head&, const Head&) = default;
};

struct Manifest {
  Head head;
  std::vector<DataFile> files;
  std::vector<Shard> shards;
  std::vector<RankState> states;
  std::vector<ParityGroup> groups;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// kMemory describes a copy in memory (docs/formats/memory-copy.md). Its shards have no pieces,
// because their offsets follow from their sizes.
enum class Document : std::uint8_t { kIntent, kPart, kManifest, kMemory };

[[nodiscard]] std::string encode(Document document, const Manifest& manifest);
// kCorrupt: `bytes` are not such a document, are damaged or contradict themselves. kUnavailable:
// the document has another format version, or a required section of unknown kind.
base::Result<Manifest> decode(Document document, std::string_view bytes);

// Reads only the head of a document of `bytes` bytes, with three calls of `read`. The other
// sections stay unchecked. Errors: as decode(), and those of `read`.
using ReadBytes = std::function<base::Result<std::string>(std::uint64_t at, std::uint64_t bytes)>;
base::Result<Head> read_head(Document document, std::uint64_t bytes, const ReadBytes& read);

// A document's totals. summarize() does not keep the tables in memory. It checks all checksums, as
// decode() does, but not whether shards and files agree.
struct Summary {
  Head head;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;  // of all shards
  std::vector<std::string> nodes;  // machines whose local disks hold files
};
base::Result<Summary> summarize(Document document, std::string_view bytes);

}  // namespace robustrun::checkpoint
