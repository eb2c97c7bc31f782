#pragma once
// robustrun's own log: one line per event on stderr. spdlog stays behind this header.
//
// A line has time, level, node, rank and text in aligned columns, on a terminal in colour. With
// LogFormat::kJson a line is one JSON object. Logging is synchronous and works from any thread. A
// stderr that takes no bytes (a stopped terminal, a full pipe) delays logging once, by at most
// 50 ms; then lines are dropped and counted.
//     RR_LOG(kWarn, ({.node = "node3", .rank = Rank{7}}), "worker late by {} ms", late_ms);

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/ids.h"

namespace robustrun::base {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat : std::uint8_t { kHuman, kJson };
enum class LogColour : std::uint8_t { kAuto, kNever, kAlways };

struct LogContext {
  std::string_view node = {};
  std::optional<Rank> rank = {};
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kHuman;
  LogColour colour = LogColour::kAuto;  // kAuto: if stderr is a terminal
};

void configure_log(const LogOptions& options);
// Lines go to `sink` instead of stderr, as in an agent, whose lines the supervisor shows; null: to
// stderr. `sink` is called on the thread that logs, perhaps once more just after it was replaced.
using LogSink = std::function<void(LogLevel, const LogContext&, std::string_view)>;
void redirect_log(LogSink sink);

// Passes every line that goes to stderr also to `copy`, with its newline; null: no more. `copy` is
// called on the thread that logs, and never after this function has replaced it. It must not log.
void copy_log(std::function<void(std::string_view line)> copy);

// `in_line`: other output on stderr has ended within a line. The next log line then begins with a
// newline and resets this.
void set_stderr_in_line(bool in_line);
[[nodiscard]] bool is_stderr_in_line();

[[nodiscard]] bool log_enabled(LogLevel level);
void log_line(LogLevel level, const LogContext& context, std::string_view text);

}  // namespace robustrun::base

#define RR_LOG(level, context, ...)                                         \
  do {                                                                      \
    if (::robustrun::base::log_enabled(::robustrun::base::LogLevel::level)) \
      ::robustrun::base::log_line(::robustrun::base::LogLevel::level,       \
                                  ::robustrun::base::LogContext context,    \
                                  ::fmt::format(__VA_ARGS__));              \
  } while (false)
