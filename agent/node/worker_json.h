#pragma once
// The JSON that passes between a worker and its agent, error files and socket messages, and what
// py-spy says of a worker. Pure; the only place of this room that knows a JSON library.
//
// Input is the worker's and hostile until proven otherwise: every function takes any bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/faulthandler_text.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// Both forms that torchrun accepts: {"message": {"message", "extraInfo": {…}}} and
// {"message": "text", "timestamp"}. kCorrupt when the text is neither.
base::Result<wire::ErrorFile> parse_error_file(std::string_view text);

// What a worker may learn through its socket, and what it says.
struct ControlState {
  std::string run_id;
  base::Rank rank;
  base::Attempt attempt;
  wire::StopReason stop_reason = wire::StopReason::kNone;
  base::Nanos stop_deadline{};  // CLOCK_MONOTONIC; 0: none
  bool saves_on_stop = false;  // it saves by itself, and ends then
  std::vector<wire::CheckpointNote> notes{};  // nobody has taken them yet
};

// The reply to one message (docs/formats/worker-socket.md); always one JSON object.
std::string answer_control_message(std::string_view request, ControlState& state);
std::string control_error(std::string_view what);
// Bytes of memory that a message asks for; nullopt: it is another message, or malformed.
std::optional<std::uint64_t> memory_wanted(std::string_view request);
std::string memory_answer(std::uint64_t bytes);
// It asks to be answered when the worker may load and save checkpoints.
bool asks_for_saves(std::string_view request);

// What `py-spy dump --json` (0.3 and newer) printed: a list of threads. The thread whose number is
// `pid` is the main one. Limits as of parse_faulthandler(). kCorrupt when it is something else.
base::Result<StackDump> parse_py_spy(std::string_view text, std::int64_t pid);

}  // namespace robustrun::agent
