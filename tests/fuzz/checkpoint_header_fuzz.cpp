// Any bytes as a file of extents: an error, or entries that cover its data and are read again when
// they are written.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/extent_header.h"

using namespace robustrun::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  // The first byte says how much data there is behind the header.
  const auto data_bytes = static_cast<unsigned char>(input[0]);
  ByteWriter file;
  file.number(std::uint64_t{input.size() - 1});
  file.raw(input.substr(1));
  const auto entries = decode_header(file.bytes(), file.bytes().size() + data_bytes);
  (void)decode_header(input, input.size());
  if (!entries) return 0;
  std::uint64_t end = 0;
  for (const HeaderEntry& entry : *entries) {
    RR_ASSERT(entry.begin == end && entry.end >= entry.begin);
    end = entry.end;
    if (robustrun::base::printable(entry.name) != entry.name) return 0;  // never written by us
  }
  RR_ASSERT(end == data_bytes);
  const std::string header = encode_header(*entries);
  const auto again = decode_header(header, header.size() + data_bytes);
  RR_ASSERT(again && *again == *entries);
  return 0;
}
