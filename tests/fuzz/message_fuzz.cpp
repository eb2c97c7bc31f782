// One payload, decoded as a message of each kind: refused, or written and read again the same.
// Seeds: tests/golden/wire-v1

#include <cstdint>
#include <string_view>
#include <utility>

#include "wire/messages/field_codec.h"
#include "wire/messages/messages.h"

using namespace robustrun::wire;

namespace {

template <class T>
void decode_as(std::string_view payload) {
  const auto message = decode<T>(payload);
  if (!message) return;
  const std::string bytes = encode(*message);
  const auto again = decode<T>(bytes);
  RR_ASSERT(again && encode(*again) == bytes);
}

template <std::size_t... kKinds>
void decode_as_each(std::string_view payload, std::index_sequence<kKinds...>) {
  (decode_as<std::variant_alternative_t<kKinds, Message>>(payload), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_as_each({reinterpret_cast<const char*>(data), size},
                 std::make_index_sequence<std::variant_size_v<Message>>{});
  return 0;
}
