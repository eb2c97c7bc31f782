// What peers say of blocks and of staged files: read within bounds, or refused; one spelling each.

#include <cstdint>
#include <string_view>

#include "bootstrap/store/staged_about.h"
#include "wire/bulk/block_exchange.h"
#include "wire/messages/limits.h"

using namespace robustrun;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto question = wire::parse_block_question(input)) {
    RR_ASSERT(to_bytes(*question) == input);
    RR_ASSERT(wire::is_blob_name(question->name.blob));
  }
  if (const auto answer = wire::parse_block_answer(input)) {
    RR_ASSERT(to_bytes(*answer) == input);
    RR_ASSERT(answer->bytes <= wire::kBlockBytesMax);
  }
  if (const auto about = bootstrap::parse_staged_about(input)) {
    RR_ASSERT(bootstrap::is_blob_key(about->blob.key));
    RR_ASSERT(about->blob.length > 0 && about->blob.length <= bootstrap::kBlobBytesMax);
    const auto again = bootstrap::parse_staged_about(bootstrap::to_text(*about));
    RR_ASSERT(again && again->blob.key == about->blob.key);
  }
  return 0;
}
