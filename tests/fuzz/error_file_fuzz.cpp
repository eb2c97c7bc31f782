// Any bytes as a worker's error file: parsed or refused, never more text than was there.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/node/worker_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = robustrun::agent::parse_error_file(text);
  if (file && file->message.size() + file->callstack.size() > size) std::abort();
  if (file && file->timestamp_s < 0) std::abort();
  return 0;
}
