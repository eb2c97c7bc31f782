// What a peer says before and after bulk data: read within bounds, or refused; one spelling each.

#include <cstdint>
#include <string_view>

#include "wire/bulk/request.h"
#include "wire/messages/limits.h"

using namespace robustrun::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto request = parse_bulk_request(input)) {
    RR_ASSERT(to_bytes(*request) == input);
    RR_ASSERT(request->bytes <= request->slot_bytes && request->slot_bytes <= kBulkBytesMax);
  }
  if (const auto answer = parse_bulk_answer(input)) {
    RR_ASSERT(to_bytes(*answer) == input);
    for (const std::uint64_t bytes : answer->bytes) RR_ASSERT(bytes <= answer->slot_bytes);
    RR_ASSERT(answer->slot_bytes <= kBulkBytesMax);
  }
  if (const auto round = parse_bulk_round(input)) {
    RR_ASSERT(to_bytes(*round) == input);
    RR_ASSERT(round->round != 0 && round->round != round->complete);
  }
  return 0;
}
