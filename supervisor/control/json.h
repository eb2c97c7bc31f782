#pragma once
// The JSON of the supervisor's control socket: docs/formats/control-socket.md. Pure; in this room
// only this file uses a JSON library.

#include <map>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "supervisor/core/status/changes.h"
#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// A flat JSON object whose values are strings; reading skips other members.
using ControlFields = std::map<std::string, std::string>;

// kCorrupt when the text is not a JSON object.
[[nodiscard]] base::Result<ControlFields> read_control_message(std::string_view text);
[[nodiscard]] std::string write_control_message(const ControlFields& fields);
// The answer to a refused request; `what` is the reason.
[[nodiscard]] std::string control_refusal(std::string_view what);

// Any bytes as a member's value, and back: the code points U+0000 to U+00FF stand for one byte
// each.
[[nodiscard]] std::string bytes_to_member(std::string_view bytes);
// kCorrupt if `text` contains another code point.
[[nodiscard]] base::Result<std::string> member_to_bytes(std::string_view text);

// The answer to "status": its `type`, and an object `status`.
[[nodiscard]] std::string write_status_answer(const RunStatus& status);
// Members that are missing or of another type keep the defaults of RunStatus. kInvalidArgument: a
// refusal. kCorrupt: not a JSON object.
[[nodiscard]] base::Result<RunStatus> read_status_answer(std::string_view text);
// The same for "changes", with an object `changes`.
[[nodiscard]] std::string write_changes_answer(const StatusNews& news);
[[nodiscard]] base::Result<StatusNews> read_changes_answer(std::string_view text);

}  // namespace robustrun::supervisor
