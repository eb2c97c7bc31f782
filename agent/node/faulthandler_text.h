#pragma once
// Python stacks as faulthandler.register() writes them (CPython, Python/traceback.c,
// _Py_DumpTracebackThreads): pure, for any bytes.
//
//   Thread 0x00007f637d5f86c0 (most recent call first):
//     File "/job/train.py", line 87 in step
//   <empty line>
//   Current thread 0x00007f637ec76b80 (most recent call first):
//
// Threads come newest first, so that the main thread is the last; "Current" is the one that took
// the signal. After 100 threads "..." ends the dump: the main thread is not in it then.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct StackDump {
  std::vector<tracer::ThreadStack> stacks;  // the main thread first, then as written
  std::vector<std::uint64_t> idents;        // of each stack, as threading.get_ident()
  bool cut = false;  // there were more threads than written; the main thread is unknown
};

// Parses the last dump in `text`, which may hold several dumps, begin within one, and be garbage.
// Limits: kStackThreadsMax, kStackFramesMax, kStackNameBytesMax, kStackBytesMax.
[[nodiscard]] StackDump parse_faulthandler(std::string_view text);

// Whether `text` ends like a dump whose last thread is the main thread, in a script. A dump that is
// being written hardly ever does.
[[nodiscard]] bool ends_like_dump(std::string_view text);

// One frame, with its names cut to the limits; takes their bytes from `budget`.
[[nodiscard]] tracer::Frame bounded_frame(std::string_view function, std::string_view file,
                                          std::uint32_t line, std::size_t& budget);

// The main thread's frames; nullptr: unknown.
[[nodiscard]] const tracer::ThreadStack* main_stack(const std::vector<tracer::ThreadStack>& stacks);

}  // namespace robustrun::agent
