// A profile of files to read ahead, and what a worker says it read: any bytes become that or an
// error, and a profile that is accepted asks for nothing beyond its files.
// Seeds: tests/fuzz/seeds/hot_profile

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/hash.h"
#include "bootstrap/hot/hot_profile.h"
#include "bootstrap/hot/touched_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::bootstrap;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto touched = parse_touched(bytes)) {
    for (const TouchedFile& file : *touched) {
      if (!file.path.starts_with('/')) std::abort();
    }
  }
  // No input would have the right sum by itself.
  char end[32];
  const auto sum = static_cast<unsigned long long>(robustrun::base::hash64(bytes));
  std::snprintf(end, sizeof(end), "end %016llx\n", sum);
  const auto profile = decode_profile(std::string(bytes) + end);
  if (!profile) return 0;
  for (const HotFile& file : profile->files) {
    for (const HotRange& range : file.ranges) {
      if (range.length == 0 || range.offset > file.size) std::abort();
      if (range.length > file.size - range.offset) std::abort();
    }
  }
  if (decode_profile(encode_profile(*profile)).value() != *profile) std::abort();
  return 0;
}
