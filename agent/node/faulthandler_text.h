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
  std::vector<tracer::ThreadStack> stacks;  // the main thread first; the others as written
  std::vector<std::uint64_t> idents;        // of each, as threading.get_ident() has it
  bool cut = false;  // there were more threads than it has: none is known to be the main one
};

// The last dump in `text`, which may hold several, begin within one, and be nonsense. Limits:
// kStackThreadsMax, kStackFramesMax, kStackNameBytesMax, kStackBytesMax.
[[nodiscard]] StackDump parse_faulthandler(std::string_view text);

// Whether `text` ends as a dump does whose last thread is the main thread, in a script: a dump in
// the middle of being written does not.
[[nodiscard]] bool ends_like_dump(std::string_view text);

// One frame, with its names as short as the limits want them; takes their bytes from `budget`.
[[nodiscard]] tracer::Frame bounded_frame(std::string_view function, std::string_view file,
                                          std::uint32_t line, std::size_t& budget);

// The main thread's frames; nullptr: it is not known.
[[nodiscard]] const tracer::ThreadStack* main_stack(const std::vector<tracer::ThreadStack>& stacks);

}  // namespace robustrun::agent
