#pragma once
// The JSON of the supervisor's control socket: docs/formats/control-socket.md. Pure; the only
// place of this room that knows a JSON library.

#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// One flat JSON object whose values are strings; other members are skipped when it is read.
using ControlFields = std::map<std::string, std::string>;

// kCorrupt when the text is no JSON object.
[[nodiscard]] base::Result<ControlFields> read_control_message(std::string_view text);
[[nodiscard]] std::string write_control_message(const ControlFields& fields);
// An answer that says why not.
[[nodiscard]] std::string control_refusal(std::string_view what);

// Any bytes as a member's value, and back: the code points U+0000 to U+00FF stand for one byte
// each.
[[nodiscard]] std::string bytes_to_member(std::string_view bytes);
// kCorrupt when another code point is in it.
[[nodiscard]] base::Result<std::string> member_to_bytes(std::string_view text);

// The answer to "status", which has one more object, `status`. Members that are missing or of
// another kind stay as they are in a RunStatus that was just made. kInvalidArgument: a refusal.
[[nodiscard]] std::string write_status_answer(const RunStatus& status);
[[nodiscard]] base::Result<RunStatus> read_status_answer(std::string_view text);

}  // namespace robustrun::supervisor
