#include "agent/worker_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "agent/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using nlohmann::json;

constexpr int kControlVersion = 1;

// The value of a \uXXXX escape whose digits begin at `at`; -1 when it is none.
int escaped_unit(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int unit = 0;
  const char* const end = text.data() + at + 4;
  const auto parsed = std::from_chars(text.data() + at, end, unit, 16);
  return parsed.ptr == end ? unit : -1;
}

bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Python writes text that was not UTF-8 as lone surrogates, which strict JSON does not have:
// they become U+FFFD.
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

// The library builds a million nested lists one by one, for longer than the loop may wait.
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

// torchrun's int(): a whole number or its decimal text.
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

std::string answer_hello(const json& request, const ControlState& state) {
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

std::string answer_stop_reason(const json&, const ControlState& state) {
  return written(json::object({{"type", "stop_reason"},
                               {"reason", stop_reason_name(state.stop_reason)},
                               {"deadline_ns", state.stop_deadline.count()}}));
}

std::string answer_ping(const json&, const ControlState&) {
  return written(json::object({{"type", "ping"}}));
}

// py-spy ----------------------------------------------------------------------------------------

std::uint64_t unsigned_of(const json* value) {
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
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
  std::string (*answer)(const json& request, const ControlState& state);
};

constexpr std::array kMessages = {
    MessageRow{"hello", answer_hello},
    MessageRow{"stop_reason", answer_stop_reason},
    MessageRow{"ping", answer_ping},
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

std::string answer_control_message(std::string_view request, const ControlState& state) {
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

}  // namespace robustrun::agent
