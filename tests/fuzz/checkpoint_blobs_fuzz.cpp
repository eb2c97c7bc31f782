// Any bytes as what comes over the C interface (the first byte says as which): an error, or
// something that is no larger than the bytes can say.

#include <cstdint>
#include <string_view>

#include "checkpoint/c_api/blobs.h"

using namespace robustrun::checkpoint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const int kind = input[0] & 3;
  input.remove_prefix(1);
  if (kind == 0) {
    const auto who = decode_participants(input);
    RR_ASSERT(!who || (who->layout.axes.size() <= size && who->writers.size() <= size));
  } else if (kind == 1) {
    const auto shards = decode_structure(input);
    if (!shards) return 0;
    RR_ASSERT(shards->size() <= size);
    // What was understood is said again as the same bytes, within a description.
    Manifest manifest;
    manifest.shards = *shards;
    RR_ASSERT(encode_description(manifest, "").find(input) != std::string::npos);
  } else {
    const auto states = decode_states(input);
    RR_ASSERT(!states || states->size() <= size);
  }
  return 0;
}
