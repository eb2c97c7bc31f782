#pragma once
// The fixed-size request that precedes bulk data between agents, and its answer
// (docs/formats/bulk.md). Pure; every byte from a peer passes these parsers before it is used.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::wire {

inline constexpr std::size_t kBulkRequestBytes = 32;
inline constexpr std::size_t kBulkAnswerBytes = 40;
inline constexpr std::size_t kBulkRoundBytes = 16;
inline constexpr std::size_t kBulkCopiesMax = 2;  // of one rank

enum class BulkPurpose : std::uint32_t {
  kKeep = 1,  // the caller sends a copy of its rank's state, to be kept
  kFetch = 2,  // the caller wants the copies that the callee keeps
  kKeepRound = 3,  // as kKeep, for a round of copies: a BulkRound precedes the copy
  kBlocks = 4,  // the caller asks for blocks, one after the other (block_exchange.h)
};

struct BulkRequest {
  BulkPurpose purpose = BulkPurpose::kKeep;
  base::Rank rank;
  std::uint64_t bytes = 0;  // size of the copy that follows; 0 with kFetch and kBlocks
  // size of the slot in shared memory that the copy comes from; at least `bytes`
  std::uint64_t slot_bytes = 0;
  bool operator==(const BulkRequest&) const = default;
};

// The round that the caller's rank is in (CopyRound in wire/messages/peer_copies.h).
struct BulkRound {
  std::uint64_t round = 0;  // never 0
  // The last complete round, never equal to `round`; 0: none. Its copy is kept until `round` is
  // complete as well.
  std::uint64_t complete = 0;
  bool operator==(const BulkRound&) const = default;
};

enum class BulkVerdict : std::uint32_t {
  kGo = 0,  // kKeep, kKeepRound: send the copy; kFetch: the copies follow
  kKept = 1,  // the copy is complete and kept
  kNone = 2,  // the callee expects (kKeep) or keeps (kFetch) no copy of that rank
  kBusy = 3,  // the copy is in use; try again later
  kNoRoom = 4,
  kDamaged = 5,  // the bytes received are not a copy
};

struct BulkAnswer {
  BulkVerdict verdict = BulkVerdict::kNone;
  std::uint64_t slot_bytes = 0;  // of the copies that follow
  // size of each copy, in order; 0: no more copies
  std::array<std::uint64_t, kBulkCopiesMax> bytes{};
  bool operator==(const BulkAnswer&) const = default;
};

[[nodiscard]] std::string to_bytes(const BulkRequest& request);
[[nodiscard]] std::string to_bytes(const BulkAnswer& answer);
[[nodiscard]] std::string to_bytes(const BulkRound& round);
// kProtocol: `bytes` is not a request or answer, or its lengths exceed kBulkBytesMax or contradict
// each other.
[[nodiscard]] base::Result<BulkRequest> parse_bulk_request(std::string_view bytes);
[[nodiscard]] base::Result<BulkAnswer> parse_bulk_answer(std::string_view bytes);
// kProtocol: `bytes` has the wrong length, or BulkRound forbids its values.
[[nodiscard]] base::Result<BulkRound> parse_bulk_round(std::string_view bytes);

}  // namespace robustrun::wire
