#pragma once
// The versions of Python and torch that workers get, by a question to the run's interpreter in the
// workers' environment. Pure: process/ask_program.h runs the question.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// The argv of the question. `full`: imports torch and so loads its libraries; otherwise reads
// torch's version from its version.py, which takes milliseconds.
[[nodiscard]] std::vector<std::string> software_question(const std::string& interpreter, bool full);
// Parses the answer. Errors go into Software::error.
[[nodiscard]] base::Software read_software(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
