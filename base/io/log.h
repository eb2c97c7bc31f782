#pragma once
// robustrun's own log: one line per event on stderr. spdlog stays behind this header.
//
// On a terminal: colour and aligned columns (time, level, node, rank, text); elsewhere the same
// without colour. With LogFormat::kJson one JSON object per line. Synchronous, from any thread. A
// stderr without a reader costs at most 50 ms once; then lines are dropped and counted.
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
  LogColour colour = LogColour::kAuto;  // auto: if stderr is a terminal
};

void configure_log(const LogOptions& options);
// An agent has no terminal of its own: its lines go to `sink` (and on to the supervisor). It is
// called on the thread that logs, perhaps once more just after it was replaced; null: none.
using LogSink = std::function<void(LogLevel, const LogContext&, std::string_view)>;
void redirect_log(LogSink sink);

// Also passes every line that goes to stderr, with its newline, to `copy` (null: stops that).
// `copy` must not log.
void copy_log(std::function<void(std::string_view line)> copy);

// Whether the last bytes that others wrote to stderr do not end with '\n'. The next line then
// begins on a line of its own, which sets this back.
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
