// Any bytes as a progress record: a reading or an error, names printable, counts bounded.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracer/progress_record.h"
#include "tracer/record_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::tracer;
  // A valid beginning, so that the fuzzer reaches what lies behind it at once.
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 12) {
    std::memcpy(bytes.data(), kRecordMagic.data(), kRecordMagic.size());
    std::memcpy(bytes.data() + 8, &kRecordMajor, sizeof kRecordMajor);
  }
  const auto reading = decode_record(bytes);
  if (!reading) return 0;
  if (reading->metrics.size() > kMetricsMax) std::abort();
  for (const auto& [name, value] : reading->metrics) {
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < ' ') std::abort();
    }
  }
  return 0;
}
