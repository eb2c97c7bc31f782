#pragma once
// Parses Python stacks in the format of faulthandler.register() (CPython, Python/traceback.c,
// _Py_DumpTracebackThreads). Pure; accepts any bytes.
//
//   Thread 0x00007f637d5f86c0 (most recent call first):
//     File "/job/train.py", line 87 in step
//   <empty line>
//   Current thread 0x00007f637ec76b80 (most recent call first):
//
// The newest thread comes first and the main thread last. "Current" is the thread that took the
// signal. After 100 threads a line "..." ends the dump, which then lacks the main thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

struct StackDump {
  std::vector<tracer::ThreadStack> stacks;  // the main thread first, then as written
  std::vector<std::uint64_t> idents;  // threading.get_ident() of the thread of each stack
  bool cut = false;  // the dump lacks threads, among them the main thread
};

// Parses the last dump in `text`, which may hold several dumps, begin within one, or be garbage.
// Limits: kStackThreadsMax, kStackFramesMax, kStackNameBytesMax, kStackBytesMax.
[[nodiscard]] StackDump parse_faulthandler(std::string_view text);

// Whether `text` ends like a whole dump: with the main thread, whose outermost frame is a script's.
// An unfinished dump hardly ever ends so.
[[nodiscard]] bool ends_like_dump(std::string_view text);

// Makes a frame with names cut to the limits, and subtracts their bytes from `budget`.
[[nodiscard]] tracer::Frame bounded_frame(std::string_view function, std::string_view file,
                                          std::uint32_t line, std::size_t& budget);

// The main thread's Python stack; nullptr: unknown.
[[nodiscard]] const tracer::ThreadStack* main_stack(const std::vector<tracer::ThreadStack>& stacks);

}  // namespace robustrun::agent
