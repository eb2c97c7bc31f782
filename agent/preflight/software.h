#pragma once
// Which Python and which torch the workers would get: asked of the run's own interpreter, in the
// workers' own environment. Pure; process/ask_program.h does the asking.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// `full`: torch is imported, and with it its libraries. Else torch's version is read from the file
// that the import would read, which takes milliseconds.
[[nodiscard]] std::vector<std::string> software_question(const std::string& interpreter, bool full);
// Parses the answer.
[[nodiscard]] base::Software read_software(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
