// A worker's output with progress bars: its bar and the live area stay harmless and bounded, and
// output without '\r' and escape sequences passes unchanged.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "supervisor/console/bar_fold.h"
#include "supervisor/console/limits.h"
#include "supervisor/console/live_area.h"

using namespace robustrun;
using namespace robustrun::supervisor;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool is_plain = input.find_first_of("\r\x1b") == std::string_view::npos;
  BarFold fold;
  LiveArea area;
  std::string rest;
  std::size_t given = 0;
  for (std::size_t at = 0; at < size;) {
    // Pieces, ranks and streams are chosen by the bytes.
    const std::size_t length = 1 + data[at] % 7;
    wire::Output output;
    output.rank = base::Rank{is_plain ? 0U : data[at] / 8 % 3U};
    output.is_stderr = !is_plain && data[at] % 2 == 0;
    output.bytes = input.substr(at, length);
    at += output.bytes.size();
    given += output.bytes.size();
    rest += fold.take(output);
    if (output.bytes.size() % 4 == 3) {
      for (const wire::Output& line : fold.end_quiet()) rest += line.bytes;
    }
    if (const auto bar = fold.bar()) {
      RR_ASSERT(bar->text.size() <= kBarBytesMax);
      for (const char c : bar->text) RR_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
      static_cast<void>(area.draw({24, 40}, {bar->text}));
    }
  }
  for (const wire::Output& line : fold.end()) rest += line.bytes;
  RR_ASSERT(rest.size() <= 2 * given);
  if (is_plain) RR_ASSERT(rest == input);
  RR_ASSERT(!fold.bar());
  return 0;
}
