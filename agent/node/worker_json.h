#pragma once
// The agent's JSON: error files and socket messages of workers, py-spy's output, and files of
// checkpoints. Pure; the only file of agent/ that uses a JSON library.
//
// The input is not trusted: every function accepts any bytes.

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
// {"message": "text", "timestamp"}. kCorrupt: neither.
base::Result<wire::ErrorFile> parse_error_file(std::string_view text);

// The facts that a worker can ask for through its socket, and those that it has reported there.
struct ControlState {
  std::string run_id;
  base::Rank rank;
  base::Attempt attempt;
  wire::StopReason stop_reason = wire::StopReason::kNone;
  base::Nanos stop_deadline{};  // CLOCK_MONOTONIC; 0: none
  bool saves_on_stop = false;  // when told to stop, the worker saves and then ends by itself
  bool own_store = false;      // the worker wants to serve torch's store itself
  std::vector<wire::CheckpointNote> notes{};  // reported, and not yet taken by the agent
};

// Makes the reply to one message (docs/formats/worker-socket.md), always one JSON object. Updates
// `state` by the message.
std::string answer_control_message(std::string_view request, ControlState& state);
std::string control_error(std::string_view what);
// The number of bytes of memory that a message asks for; nullopt: another or a malformed message.
std::optional<std::uint64_t> memory_wanted(std::string_view request);
std::string memory_answer(std::uint64_t bytes);
// Whether the message asks for an answer once the worker may load and save checkpoints.
bool asks_for_saves(std::string_view request);

// Parses the output of `py-spy dump --json` (0.3 and newer), a list of threads. The thread with the
// OS thread id `pid` is the main thread. Limits: as in parse_faulthandler(). kCorrupt: anything
// else.
base::Result<StackDump> parse_py_spy(std::string_view text, std::int64_t pid);

// Files of checkpoints (agent/trainer_saves).
bool is_json_object(std::string_view text);
// The file names in the weight_map of a Hugging Face index, each once. kCorrupt: no such index.
base::Result<std::vector<std::string>> parse_shard_index(std::string_view text);
// The number of bytes of data that a safetensors header describes. kCorrupt: no such header.
base::Result<std::uint64_t> parse_safetensors_header(std::string_view text);

}  // namespace robustrun::agent
