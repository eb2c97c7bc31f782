#pragma once
// Encodes and decodes the blobs of the C interface. Fields are as in docs/checkpoint-format.md
// (`text`, `list of X`), little-endian. Decoding is bounded; kInvalidArgument: the blob is
// malformed.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/store/catalog.h"

namespace robustrun::checkpoint {

struct Participants {
  WorldLayout layout;
  std::vector<std::string> writers;
};

// u32 world size, list of (text name, u32 size) axes, list of text writers.
base::Result<Participants> decode_participants(std::string_view blob);
// list of (text name, text dtype, u32 rank, u32 d, d × u64 shape of the tensor, d × u64 offsets,
// d × u64 shape of the shard, u64 bytes); without CRCs and pieces.
base::Result<std::vector<Shard>> decode_structure(std::string_view blob);
// list of (u32 rank, text name, text bytes).
base::Result<std::vector<RankState>> decode_states(std::string_view blob);

// list of (u64 step, u64 generation, text token, u32 state, u32 flags, text poisoned, u64 sequence,
// u64 wall time in ns, u64 bytes of data, text digest). Flags: 1 verified, 2 pinned, 4 some data is
// only on disks of single machines. States are as in AttemptState.
[[nodiscard]] std::string encode_catalogue(std::span<const FoundAttempt> all);
// u64 step, u64 generation, text token, u64 sequence, u64 wall time in ns, text digest, u32 world
// size, axes, list of text mounts, list of text writers, then structure and states as above.
[[nodiscard]] std::string encode_description(const Manifest& manifest, std::string_view digest);
// list of text.
[[nodiscard]] std::string encode_texts(std::span<const std::string> texts);

}  // namespace robustrun::checkpoint
