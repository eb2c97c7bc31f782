// Any bytes as a dump of faulthandler's: within all limits, and at most one main thread, the first.
// Seeds: tests/fuzz/seeds/faulthandler

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/node/faulthandler_text.h"
#include "agent/node/limits.h"

using namespace robustrun::agent;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const StackDump dump = parse_faulthandler(text);
  static_cast<void>(ends_like_dump(text));
  if (dump.stacks.size() != dump.idents.size()) std::abort();
  if (dump.stacks.size() > kStackThreadsMax) std::abort();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < dump.stacks.size(); ++i) {
    const auto& stack = dump.stacks[i];
    if (stack.is_main != (i == 0 && !dump.cut)) std::abort();
    if (stack.frames.size() > kStackFramesMax) std::abort();
    for (const auto& frame : stack.frames) bytes += frame.function.size() + frame.file.size();
  }
  if (bytes > kStackBytesMax || bytes > size) std::abort();
  return 0;
}
