#pragma once
// Questions and answers about blocks of blobs (docs/formats/bulk.md). A blob is a file of known
// length, cut into blocks of 128 KiB. Questions and answers travel on a bulk stream after a request
// of purpose kBlocks. Pure; a peer's questions and answers pass these parsers before they are used.

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
  std::string blob;  // kBlobKeyBytes lower-case hex digits
  std::uint64_t block = 0;
  auto operator<=>(const BlockName&) const = default;
};

// Where the callee may look for a block that it does not have.
enum class BlockScope : std::uint32_t {
  kAny = 0,  // at its peers, or at the blob's origin
  kOwn = 1,  // at the origin, not at peers
  kStored = 2,  // nowhere: the callee answers at once
};

struct BlockQuestion {
  std::uint32_t id = 0;  // chosen by the caller
  BlockScope scope = BlockScope::kAny;
  BlockName name;
  bool operator==(const BlockQuestion&) const = default;
};

enum class BlockVerdict : std::uint32_t {
  kHere = 0,  // the block's bytes follow
  kNone = 1,  // the callee does not have the block and will not fetch it
  kBusy = 2,  // the callee has too many requests: ask another peer
  kComing = 3,  // the callee is fetching the block; another answer follows
};

struct BlockAnswer {
  std::uint32_t id = 0;  // of the question
  BlockVerdict verdict = BlockVerdict::kNone;
  std::uint32_t bytes = 0;  // size of the block that follows; kHere: 1 to kBlockBytesMax, else 0
  base::Hash128 sum{};  // hash of these bytes; kHere only
  bool operator==(const BlockAnswer&) const = default;
};

[[nodiscard]] bool is_blob_name(std::string_view text);
// `question.name.blob` must satisfy is_blob_name().
[[nodiscard]] std::string to_bytes(const BlockQuestion& question);
[[nodiscard]] std::string to_bytes(const BlockAnswer& answer);
// kProtocol: `bytes` is not a question or answer, or has impossible values.
[[nodiscard]] base::Result<BlockQuestion> parse_block_question(std::string_view bytes);
[[nodiscard]] base::Result<BlockAnswer> parse_block_answer(std::string_view bytes);

}  // namespace robustrun::wire
