#include "agent/node/worker_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "agent/node/limits.h"
#include "base/core/text.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using nlohmann::json;

constexpr int kControlVersion = 1;

// The value of a \uXXXX escape whose digits begin at `at`; -1 if malformed.
int escaped_unit(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int unit = 0;
  const char* const end = text.data() + at + 4;
  const auto parsed = std::from_chars(text.data() + at, end, unit, 16);
  return parsed.ptr == end ? unit : -1;
}

bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Python writes text that was not UTF-8 as lone surrogates, which strict JSON lacks: they become
// U+FFFD.
std::string without_lone_surrogates(std::string_view text) {
  std::string out(text);
  for (std::size_t at = out.find('\\'); at < out.size(); at = out.find('\\', at)) {
    const int unit = at + 1 < out.size() && out[at + 1] == 'u' ? escaped_unit(out, at + 2) : -1;
    if (unit < 0) {
      at += 2;
      continue;
    }
    const bool followed = out.compare(at + 6, 2, "\\u") == 0;
    if (is_high_surrogate(unit) && followed && is_low_surrogate(escaped_unit(out, at + 8))) {
      at += 12;
      continue;
    }
    if (is_high_surrogate(unit) || is_low_surrogate(unit)) out.replace(at + 2, 4, "fffd");
    at += 6;
  }
  return out;
}

// The library builds a million nested lists one by one, for longer than the loop may block.
bool is_flat(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++depth > kJsonDepthMax) return false;
    } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

json parse(std::string_view text) {
  if (!is_flat(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

json parse_leniently(std::string_view text) {
  json document = parse(text);
  if (!document.is_discarded()) return document;
  const std::string repaired = without_lone_surrogates(text);
  return repaired == text ? document : parse(repaired);
}

const json* member(const json& value, const char* name) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(name);
  return found == value.end() ? nullptr : &*found;
}

std::string text_of(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// Like torchrun's int(): a whole number or its decimal text.
std::int64_t seconds_of(const json* value) {
  if (value == nullptr) return 0;
  if (value->is_number_integer()) return std::max<std::int64_t>(0, value->get<std::int64_t>());
  const auto parsed = base::parse_int<std::int64_t>(base::trim(text_of(value)));
  return parsed ? std::max<std::int64_t>(0, *parsed) : 0;
}

// Socket messages -----------------------------------------------------------------------------

// error_handler replace: nothing that a string may hold can make this throw.
std::string written(const json& reply) {
  return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

const char* stop_reason_name(wire::StopReason reason) {
  switch (reason) {
    case wire::StopReason::kNone: return "none";
    case wire::StopReason::kRestart: return "restart";
    case wire::StopReason::kPreempt: return "preempt";
    case wire::StopReason::kStop: return "stop";
  }
  return "none";
}

std::string answer_hello(const json& request, ControlState& state) {
  const json* version = member(request, "version");
  if (version == nullptr || !version->is_number_integer() || version->get<std::int64_t>() < 1) {
    return control_error("hello needs a version, a whole number from 1");
  }
  return written(json::object({{"type", "hello"},
                               {"version", kControlVersion},
                               {"run_id", state.run_id},
                               {"rank", state.rank.value},
                               {"attempt", state.attempt.value}}));
}

std::string answer_stop_reason(const json&, ControlState& state) {
  return written(json::object({{"type", "stop_reason"},
                               {"reason", stop_reason_name(state.stop_reason)},
                               {"deadline_ns", state.stop_deadline.count()}}));
}

std::string answer_ping(const json&, ControlState&) {
  return written(json::object({{"type", "ping"}}));
}

// Sent once saves are allowed; a worker that has to wait is answered later.
std::string answer_await_saves(const json&, ControlState&) {
  return written(json::object({{"type", "await_saves"}}));
}

std::string answer_own_store(const json&, ControlState& state) {
  state.own_store = true;
  return written(json::object({{"type", "own_store"}}));
}

// Reached only by requests that cannot be granted; the others are answered by the memory tier.
std::string refuse_memory(const json&, ControlState&) {
  return control_error("memory needs bytes, a whole number, and a node that keeps copies");
}

std::uint64_t unsigned_of(const json* value) {
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

// A duration that a worker measured: impossible values become 0.
base::Nanos nanos_of(const json* value) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // so that sums stay in range
  const std::uint64_t count = unsigned_of(value);
  return base::Nanos(count < kMost ? static_cast<std::int64_t>(count) : 0);
}

std::string answer_save_on_stop(const json& request, ControlState& state) {
  const json* const wanted = member(request, "enabled");
  state.saves_on_stop = wanted == nullptr || !wanted->is_boolean() || wanted->get<bool>();
  return written(json::object({{"type", "save_on_stop"}}));
}

constexpr std::pair<const char*, wire::CheckpointNote::Event> kCheckpointEvents[] = {
    {"saved", wire::CheckpointNote::Event::kSaved},
    {"committed", wire::CheckpointNote::Event::kCommitted},
    {"loaded", wire::CheckpointNote::Event::kLoaded}};

bool is_word(const std::string& text, std::size_t bytes_max) {
  return text.size() <= bytes_max && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '_';
         });
}

// Absolute paths, home first.
bool take_directories(const json* list, std::vector<std::string>& out) {
  if (list == nullptr) return true;
  if (!list->is_array() || list->size() > wire::kCheckpointDirectoriesMax) return false;
  for (const json& each : *list) {
    out.push_back(text_of(&each));
    const std::string& path = out.back();
    if (path.size() > wire::kCheckpointPathBytesMax || !path.starts_with('/')) return false;
  }
  return true;
}

std::string answer_checkpoint(const json& request, ControlState& state) {
  const std::string word = text_of(member(request, "event"));
  const auto* const event =
      std::ranges::find(kCheckpointEvents, word, [](const auto& row) { return row.first; });
  const json* const step = member(request, "step");
  if (event == std::end(kCheckpointEvents) || step == nullptr || !step->is_number_unsigned()) {
    return control_error(
        "checkpoint needs an event (saved, committed, loaded) and a step, a whole number from 0");
  }
  wire::CheckpointNote note;
  note.attempt = state.attempt;
  note.event = event->second;
  note.step = step->get<std::uint64_t>();
  note.generation = unsigned_of(member(request, "generation"));
  note.token = text_of(member(request, "token"));
  note.source = text_of(member(request, "source"));
  note.bytes = unsigned_of(member(request, "bytes"));
  note.blocking = nanos_of(member(request, "blocking_ns"));
  note.total = nanos_of(member(request, "total_ns"));
  if (!is_word(note.token, wire::kCheckpointTokenBytesMax) ||
      !is_word(note.source, wire::kCheckpointSourceBytesMax) ||
      !take_directories(member(request, "directories"), note.directories)) {
    return control_error(
        "checkpoint has a token and a source, short words, and directories, absolute paths");
  }
  state.notes.push_back(std::move(note));
  return written(json::object({{"type", "checkpoint"}}));
}

bool flag_of(const json* value) {
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

tracer::ThreadStack stack_of(const json& thread, std::size_t& budget) {
  tracer::ThreadStack stack;
  stack.thread = text_of(member(thread, "thread_name")).substr(0, kStackNameBytesMax);
  if (stack.thread.empty()) {
    stack.thread = fmt::format("0x{:x}", unsigned_of(member(thread, "thread_id")));
  }
  stack.holds_gil = flag_of(member(thread, "owns_gil"));
  const json* const frames = member(thread, "frames");
  if (frames == nullptr || !frames->is_array()) return stack;
  for (const json& frame : *frames) {
    if (budget == 0 || stack.frames.size() == kStackFramesMax) break;
    constexpr std::uint64_t kLineMax = 0xFFFFFFFF;
    const auto line = std::min(unsigned_of(member(frame, "line")), kLineMax);
    stack.frames.push_back(bounded_frame(text_of(member(frame, "name")),
                                         text_of(member(frame, "filename")),
                                         static_cast<std::uint32_t>(line), budget));
  }
  return stack;
}

struct MessageRow {
  std::string_view type;
  std::string (*answer)(const json& request, ControlState& state);
};

constexpr std::array kMessages = {
    MessageRow{"hello", answer_hello},
    MessageRow{"stop_reason", answer_stop_reason},
    MessageRow{"ping", answer_ping},
    MessageRow{"checkpoint", answer_checkpoint},
    MessageRow{"save_on_stop", answer_save_on_stop},
    MessageRow{"memory", refuse_memory},
    MessageRow{"await_saves", answer_await_saves},
    MessageRow{"own_store", answer_own_store},
};

}  // namespace

base::Result<wire::ErrorFile> parse_error_file(std::string_view text) {
  const json document = parse_leniently(text);
  if (document.is_discarded())
    return base::fail(Errc::kCorrupt, "it is not valid JSON, or nested too deeply");
  const json* message = member(document, "message");
  wire::ErrorFile file;
  if (message != nullptr && message->is_string()) {
    file.message = text_of(message);
    file.timestamp_s = seconds_of(member(document, "timestamp"));
    return file;
  }
  if (message == nullptr || !message->is_object()) {
    return base::fail(Errc::kCorrupt, "it has no \"message\"");
  }
  file.message = text_of(member(*message, "message"));
  if (const json* extra = member(*message, "extraInfo")) {
    file.callstack = text_of(member(*extra, "py_callstack"));
    file.timestamp_s = seconds_of(member(*extra, "timestamp"));
  }
  return file;
}

std::string control_error(std::string_view what) {
  return written(json::object({{"type", "error"}, {"message", what}}));
}

std::string answer_control_message(std::string_view request, ControlState& state) {
  const json document = parse(request);
  if (!document.is_object()) return control_error("a message is one JSON object");
  const std::string type = text_of(member(document, "type"));
  const auto row = std::ranges::find(kMessages, type, &MessageRow::type);
  if (row == kMessages.end()) {
    constexpr std::size_t kShown = 64;  // a reply stays small whatever was asked
    return control_error(fmt::format("unknown type '{}'", base::printable(type.substr(0, kShown))));
  }
  return row->answer(document, state);
}

std::optional<std::uint64_t> memory_wanted(std::string_view request) {
  const json document = parse(request);
  if (!document.is_object() || text_of(member(document, "type")) != "memory") return std::nullopt;
  const json* const bytes = member(document, "bytes");
  if (bytes == nullptr || !bytes->is_number_unsigned()) return std::nullopt;
  return bytes->get<std::uint64_t>();
}

bool asks_for_saves(std::string_view request) {
  const json document = parse(request);
  return document.is_object() && text_of(member(document, "type")) == "await_saves";
}

std::string memory_answer(std::uint64_t bytes) {
  return written(json::object({{"type", "memory"}, {"bytes", bytes}}));
}

base::Result<StackDump> parse_py_spy(std::string_view text, std::int64_t pid) {
  const json document = parse(text);
  if (!document.is_array()) return base::fail(Errc::kCorrupt, "its answer makes no sense");
  const auto is_main = [pid](const json& thread) {
    const json* const number = member(thread, "os_thread_id");
    return number != nullptr && number->is_number_integer() && number->get<std::int64_t>() == pid;
  };
  StackDump dump;
  std::size_t budget = kStackBytesMax;
  const auto add = [&](const json& thread) {
    dump.stacks.push_back(stack_of(thread, budget));
    dump.idents.push_back(unsigned_of(member(thread, "thread_id")));
  };
  const auto main = std::ranges::find_if(document, is_main);
  if (main != document.end()) {
    add(*main);
    dump.stacks.back().is_main = true;
  }
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it != main && dump.stacks.size() < kStackThreadsMax) add(*it);
  }
  if (dump.stacks.empty()) return base::fail(Errc::kCorrupt, "it found no threads");
  return dump;
}

bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && is_flat(text) &&
         json::accept(text);
}

base::Result<std::vector<std::string>> parse_shard_index(std::string_view text) {
  const json document = parse(text);
  const json* map = member(document, "weight_map");
  if (map == nullptr || !map->is_object()) {
    return base::fail(Errc::kCorrupt, "it has no weight_map");
  }
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) return base::fail(Errc::kCorrupt, "its weight_map names no files");
    shards.insert(shard.get<std::string>());
  }
  return std::vector<std::string>(shards.begin(), shards.end());
}

base::Result<std::uint64_t> parse_safetensors_header(std::string_view text) {
  const json document = parse(text);
  if (!document.is_object()) return base::fail(Errc::kCorrupt, "it is not a JSON object");
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : document.items()) {
    if (name == "__metadata__") continue;
    const json* offsets = member(tensor, "data_offsets");
    if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2 ||
        !(*offsets)[1].is_number_unsigned()) {
      return base::fail(Errc::kCorrupt, "it has a tensor without data_offsets");
    }
    bytes = std::max(bytes, (*offsets)[1].get<std::uint64_t>());
  }
  return bytes;
}

}  // namespace robustrun::agent
