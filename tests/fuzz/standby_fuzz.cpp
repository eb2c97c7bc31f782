// What a standby worker says of itself: any bytes become that or an error, and what may be logged
// of it is printable.
// Seeds: tests/fuzz/seeds/standby

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/spawn/standby_match.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const auto ready = robustrun::agent::parse_ready(message);
  if (!ready) return 0;
  for (const std::string& text : {ready->refusal, ready->unforkable}) {
    for (const char byte : text) {
      if (static_cast<unsigned char>(byte) < 0x20) std::abort();
    }
  }
  std::size_t bytes = 0;
  for (const auto& name : ready->read) bytes += name.size();
  for (const auto& stamp : ready->stamps) bytes += stamp.path.size();
  if (bytes > size) std::abort();
  return 0;
}
