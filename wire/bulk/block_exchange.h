#pragma once
// What is said on a bulk stream of purpose kBlocks, after its request (docs/formats/bulk.md):
// blocks of blobs that are asked for, and answers. Pure; nothing that comes from a peer is believed
// before it is read by these.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/hash.h"
#include "base/core/result.h"

namespace robustrun::wire {

inline constexpr std::size_t kBlockQuestionBytes = 40;
inline constexpr std::size_t kBlockAnswerBytes = 40;
inline constexpr std::size_t kBlobKeyBytes = 32;  // lower-case hex digits

struct BlockName {
  std::string blob;  // 32 lower-case hex digits
  std::uint64_t block = 0;
  auto operator<=>(const BlockName&) const = default;
};

// How far the callee is to go for a block.
enum class BlockScope : std::uint32_t {
  kAny = 0,  // it gets it from its peers, or from where it comes from
  kOwn = 1,  // it does not ask peers
  kStored = 2,  // it has it, or says at once that it has not
};

struct BlockQuestion {
  std::uint32_t id = 0;  // the caller's own
  BlockScope scope = BlockScope::kAny;
  BlockName name;
  bool operator==(const BlockQuestion&) const = default;
};

enum class BlockVerdict : std::uint32_t {
  kHere = 0,  // its bytes follow
  kNone = 1,  // it is not here, and will not be
  kBusy = 2,  // too many others want something; ask somebody else
  kComing = 3,  // it is on its way here; another answer follows
};

struct BlockAnswer {
  std::uint32_t id = 0;  // of the question
  BlockVerdict verdict = BlockVerdict::kNone;
  std::uint32_t bytes = 0;  // that follow; only of kHere, and never none there
  base::Hash128 sum{};  // of these; only of kHere
  bool operator==(const BlockAnswer&) const = default;
};

[[nodiscard]] bool is_blob_name(std::string_view text);
// The name must be one.
[[nodiscard]] std::string to_bytes(const BlockQuestion& question);
[[nodiscard]] std::string to_bytes(const BlockAnswer& answer);
// kProtocol: it is none, or impossible.
[[nodiscard]] base::Result<BlockQuestion> parse_block_question(std::string_view bytes);
[[nodiscard]] base::Result<BlockAnswer> parse_block_answer(std::string_view bytes);

}  // namespace robustrun::wire
