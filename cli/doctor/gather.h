#pragma once
// Collects the facts of `robustrun doctor` from this machine: reads files, and runs programs, each
// with a deadline (limits.h). Blocks for the sum of these deadlines at worst. Changes nothing.

#include "cli/doctor/facts.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

[[nodiscard]] Facts gather_facts(const Surroundings& around);

// Fills version, torch and nccl from python.answer.
void read_python_answer(PythonFacts& python);

// MemTotal and MemAvailable of /proc/meminfo.
void read_meminfo(std::string_view text, MemoryFacts& memory);

}  // namespace robustrun::cli
