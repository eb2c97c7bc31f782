#pragma once
// What an agent noticed about its machine while it watches it (agent/health/watch.h).
//
// An agent tells what it saw and never what should be done about it. It does so only if its
// template says `health`: a supervisor that does not know this message asks for none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace robustrun::wire {

struct NodeHealth {
  enum class Source : std::uint8_t { kKernel, kGpu, kNetwork, kDisk, kMemory, kProcessor, kClock };
  Source source = Source::kKernel;
  std::string subject{};   // "GPU 3", "eth0", "/data"; printable, at most kHealthSubjectBytesMax
  std::string line{};      // what was read, printable, one line, at most kHealthLineBytesMax
  std::uint32_t xid = 0;   // NVIDIA's code of the error; 0: none
  bool over = false;       // it is well again
  template <class V>
  void fields(V& v) {
    v(1, "source", source);
    v(2, "subject", subject);
    v(3, "line", line);
    v(4, "xid", xid);
    v(5, "over", over);
  }
};
inline constexpr std::size_t kHealthSources = 7;

// As printable() of base/core/text.h, at most `bytes_max` bytes of it; no character is cut.
[[nodiscard]] std::string short_text(std::string_view bytes, std::size_t bytes_max);

}  // namespace robustrun::wire
