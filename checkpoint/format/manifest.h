#pragma once
// What a checkpoint is: which shards of which tensors lie where in which files, with the CRC of
// everything. Plain data and its bytes; docs/checkpoint-format.md is the page of the format.
//
// The same container, sections with a CRC each and an index at the end, carries an attempt's
// INTENT, each writer's part and the MANIFEST that commits it. Decoding is bounded, executes
// nothing and checks all that it hands out: indices, sums, overlaps with a file's end. Pure.

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::checkpoint {

inline constexpr std::uint32_t kFormatVersion = 1;

// One try to save one step. `token` is random: no attempt's folder is ever used twice.
struct AttemptId {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;  // of the job's supervisor
  std::string token;             // hex
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

struct Axis {
  std::string name;  // "dp", "tp", ...
  std::uint32_t size = 1;
  friend bool operator==(const Axis&, const Axis&) = default;
};

// How the job was laid out when it saved; the first axis varies slowest over the ranks.
struct WorldLayout {
  std::uint32_t world_size = 1;
  std::vector<Axis> axes;
  friend bool operator==(const WorldLayout&, const WorldLayout&) = default;
};

// A file of extents: a header, then blocks of kBlockBytes (the last may be shorter). A file of
// parity has no header.
struct DataFile {
  std::string name;         // without folder; unique in its attempt
  std::uint32_t mount = 0;  // index into Head::mounts
  std::uint64_t bytes = 0;  // the whole file
  std::uint64_t header_bytes = 0;
  std::uint32_t header_crc = 0;
  std::vector<std::uint32_t> block_crcs;
  std::string node{};  // it is on a disk of that machine alone; empty: on shared storage
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

// Consecutive bytes of a shard; a shard's pieces follow each other and make up all of it.
struct Piece {
  std::uint32_t file = 0;    // index into files
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// A box of a tensor as one rank holds it, row-major.
struct Shard {
  std::string name;
  std::string dtype;
  std::uint32_t rank = 0;
  std::vector<std::uint64_t> global_shape;
  std::vector<std::uint64_t> offsets;  // of the box; as many as global_shape
  std::vector<std::uint64_t> shape;    // of the box
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // of all its bytes
  std::vector<Piece> pieces;
  friend bool operator==(const Shard&, const Shard&) = default;
};

// Bytes that one rank wants back: state of its data loader, of its generators of random numbers.
struct RankState {
  std::uint32_t rank = 0;
  std::string name;
  std::string bytes;
  friend bool operator==(const RankState&, const RankState&) = default;
};

// A range of a file that takes part in a parity group.
struct ParityMember {
  std::uint32_t file = 0;    // index into files
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint64_t bytes = 0;
  friend bool operator==(const ParityMember&, const ParityMember&) = default;
};

// Ranges of data, and what is computed of them (erasure_code.h): each parity is as long as the
// longest data, shorter data counts as followed by zeros.
struct ParityGroup {
  std::vector<ParityMember> data;
  std::vector<ParityMember> parity;
  friend bool operator==(const ParityGroup&, const ParityGroup&) = default;
};

struct Head {
  AttemptId attempt;
  std::uint64_t sequence = 0;        // grows with every commit; 0 before it
  std::uint64_t wall_time_ns = 0;    // since the Unix epoch, for people alone
  WorldLayout layout;
  std::vector<std::string> mounts;   // where the folders were; the first is the home
  std::vector<std::string> writers;  // who writes a part each
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

// kMemory: a copy in memory (docs/formats/memory-copy.md), whose shards have no pieces: their
// places follow from their sizes.
enum class Document : std::uint8_t { kIntent, kPart, kManifest, kMemory };

[[nodiscard]] std::string encode(Document document, const Manifest& manifest);
// kCorrupt: not that document, damaged or contradicting itself; kUnavailable: of a newer format.
base::Result<Manifest> decode(Document document, std::string_view bytes);

// The head alone of a document that has `bytes` bytes, of which `read` reads few: nothing is known
// of the other sections then. kCorrupt and kUnavailable as above; else what `read` answers.
using ReadBytes = std::function<base::Result<std::string>(std::uint64_t at, std::uint64_t bytes)>;
base::Result<Head> read_head(Document document, std::uint64_t bytes, const ReadBytes& read);

// What a document holds, by its head and a walk over its shards that keeps nothing of them. All
// checksums are looked at, as decode() does; whether shards and files agree is not.
struct Summary {
  Head head;
  std::uint64_t shards = 0;
  std::uint64_t bytes = 0;  // of all shards
  std::vector<std::string> nodes;  // on whose own disks files are
};
base::Result<Summary> summarize(Document document, std::string_view bytes);

// Whether a shard lies within its tensor, has a rank, and as many bytes as its type needs.
base::Status check_box(const Shard& shard, std::uint32_t world_size);
// Whether shards, pieces and files agree with each other; kCorrupt says what does not.
base::Status check_consistent(const Manifest& manifest);
// The same of a copy in memory, which has neither pieces nor files.
base::Status check_memory_copy(const Manifest& manifest);

}  // namespace robustrun::checkpoint
