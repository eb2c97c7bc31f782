#pragma once
// What is said before and after bulk data between agents (docs/formats/bulk.md): a request of fixed
// size, and an answer. Pure; nothing that comes from a peer is believed before it is read by these.

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
  kKeep = 1,  // the caller has a copy of its rank to be kept
  kFetch = 2,  // it wants those that the callee has
  kKeepRound = 3,  // as kKeep, for a round of copies: BulkRound comes before the copy
  kBlocks = 4,  // it asks for blocks, one after the other (block_exchange.h)
};

struct BulkRequest {
  BulkPurpose purpose = BulkPurpose::kKeep;
  base::Rank rank;
  std::uint64_t bytes = 0;  // that follow; none to fetch, and of blocks
  std::uint64_t slot_bytes = 0;  // of the place that they come from; not below `bytes`
  bool operator==(const BulkRequest&) const = default;
};

// Of the caller's rank (CopyRound).
struct BulkRound {
  std::uint64_t round = 0;  // never 0
  std::uint64_t complete = 0;  // whose copy is not given up before this one is whole; 0: none
  bool operator==(const BulkRound&) const = default;
};

enum class BulkVerdict : std::uint32_t {
  kGo = 0,  // to keep: send it; to fetch: it follows
  kKept = 1,  // it is whole, and kept
  kNone = 2,  // nothing of that rank is expected, or there
  kBusy = 3,  // something else is done with it; later, perhaps
  kNoRoom = 4,
  kDamaged = 5,  // what came is no copy
};

struct BulkAnswer {
  BulkVerdict verdict = BulkVerdict::kNone;
  std::uint64_t slot_bytes = 0;  // of those that follow
  std::array<std::uint64_t, kBulkCopiesMax> bytes{};  // of each, in their order; 0: no more
  bool operator==(const BulkAnswer&) const = default;
};

[[nodiscard]] std::string to_bytes(const BulkRequest& request);
[[nodiscard]] std::string to_bytes(const BulkAnswer& answer);
[[nodiscard]] std::string to_bytes(const BulkRound& round);
// kProtocol: it is none, or its lengths are beyond kBulkBytesMax or each other.
[[nodiscard]] base::Result<BulkRequest> parse_bulk_request(std::string_view bytes);
[[nodiscard]] base::Result<BulkAnswer> parse_bulk_answer(std::string_view bytes);
// kProtocol: it is not as long, or says no round.
[[nodiscard]] base::Result<BulkRound> parse_bulk_round(std::string_view bytes);

}  // namespace robustrun::wire
