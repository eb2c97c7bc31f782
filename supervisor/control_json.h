#pragma once
// The JSON of the supervisor's control socket: docs/formats/control-socket.md. Pure; the only
// place of this room that knows a JSON library.

#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::supervisor {

// One flat JSON object whose values are strings; other members are skipped when it is read.
using ControlFields = std::map<std::string, std::string>;

// kCorrupt when the text is no JSON object.
[[nodiscard]] base::Result<ControlFields> read_control_message(std::string_view text);
[[nodiscard]] std::string write_control_message(const ControlFields& fields);
// An answer that says why not.
[[nodiscard]] std::string control_refusal(std::string_view what);

}  // namespace robustrun::supervisor
