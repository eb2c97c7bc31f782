#pragma once
// JSON between a worker and its agent (error files, socket messages), and py-spy's JSON about a
// worker. Pure; the only place of this room that uses a JSON library.
//
// Input comes from the worker and counts as hostile: every function accepts any bytes.

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

// Parses both forms that torchrun accepts: {"message": {"message", "extraInfo": {…}}} and
// {"message": "text", "timestamp"}. kCorrupt when the text is neither.
base::Result<wire::ErrorFile> parse_error_file(std::string_view text);

// What a worker may ask through its socket, and what it has reported there.
struct ControlState {
  std::string run_id;
  base::Rank rank;
  base::Attempt attempt;
  wire::StopReason stop_reason = wire::StopReason::kNone;
  base::Nanos stop_deadline{};  // CLOCK_MONOTONIC; 0: none
  bool saves_on_stop = false;  // when told to stop, the worker saves and then ends by itself
  bool own_store = false;      // rank 0's worker is to serve torch's store
  std::vector<wire::CheckpointNote> notes{};  // not collected yet
};

// The reply to one message (docs/formats/worker-socket.md); always one JSON object.
std::string answer_control_message(std::string_view request, ControlState& state);
std::string control_error(std::string_view what);
// The bytes of memory that a message asks for; nullopt: another or a malformed message.
std::optional<std::uint64_t> memory_wanted(std::string_view request);
std::string memory_answer(std::uint64_t bytes);
// Whether the message asks for an answer once the worker may load and save checkpoints.
bool asks_for_saves(std::string_view request);

// Parses the output of `py-spy dump --json` (0.3 and newer), a list of threads. The thread whose
// number is `pid` is the main thread. Limits as of parse_faulthandler(). kCorrupt: anything else.
base::Result<StackDump> parse_py_spy(std::string_view text, std::int64_t pid);

// Files of checkpoints (agent/trainer_saves): whether the text is one JSON object; the names in the
// weight_map of a Hugging Face index; the bytes of data that a safetensors header describes.
// kCorrupt: anything else.
bool is_json_object(std::string_view text);
base::Result<std::vector<std::string>> parse_shard_index(std::string_view text);
base::Result<std::uint64_t> parse_safetensors_header(std::string_view text);

}  // namespace robustrun::agent
