#pragma once
// What an agent noticed about its machine while it watches it (agent/health_watch.h).
//
// An agent tells what it saw and never what should be done about it. It does so only if its
// template says `health`: a supervisor that does not know this message asks for none.

#include <cstdint>
#include <string>

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

}  // namespace robustrun::wire
