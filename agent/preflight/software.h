#pragma once
// Which Python and which torch the workers would get: asked of the run's own interpreter, with the
// workers' own environment. Pure; agent/ask_program does the asking.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// `full`: torch is imported, and so its libraries with it. Else its version is read from the file
// that the import would take it from, which is a matter of milliseconds.
[[nodiscard]] std::vector<std::string> software_question(const std::string& interpreter, bool full);
// What came back.
[[nodiscard]] base::Software read_software(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
