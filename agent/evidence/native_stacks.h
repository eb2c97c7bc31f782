#pragma once
// Gets the native stack of a worker's main thread from the output of eu-stack (elfutils). Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// `program`: absolute path of eu-stack, which stops the process while it reads the stack.
[[nodiscard]] std::vector<std::string> eu_stack_argv(const std::string& program, int pid);

// Parses lines such as "#0  0x00007f39a2d92503 clock_nanosleep@GLIBC_2.2.5 - /usr/lib/libc.so.6".
// The parts after the address may be missing; Frame.file is the library. Other lines are skipped.
// Limits: kStackFramesMax, kStackNameBytesMax, kStackBytesMax. kCorrupt: there is no such line; the
// error quotes the program's output.
base::Result<tracer::ThreadStack> parse_eu_stack(std::string_view text);

}  // namespace robustrun::agent
