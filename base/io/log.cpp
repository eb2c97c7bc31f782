#include "base/io/log.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>

#include "base/core/text.h"
#include "base/core/wrap.h"
#include "base/io/limits.h"

namespace robustrun::base {
namespace {

// A pipe that polls as writable takes this much without blocking (pipe(7)).
constexpr std::size_t kUnblockedBytes = 4096;

constexpr std::string_view kResetColour = "\x1b[0m";

// "03:17:08.568 warn  " stands before the text of a human line, which wraps beside it.
constexpr std::size_t kPrefixColumns = 19;
constexpr std::size_t kWrapColumnsMin = 40;  // a narrower terminal breaks lines as it can

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
    case LogLevel::kOff: break;
  }
  return "off";
}

std::string_view level_colour(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "\x1b[2m";
    case LogLevel::kInfo: return "\x1b[32m";
    case LogLevel::kWarn: return "\x1b[33m";
    case LogLevel::kError: return "\x1b[31m";
    case LogLevel::kOff: break;
  }
  return "";
}

using LogCopy = std::function<void(std::string_view)>;

std::atomic<bool>& stderr_in_line() {
  static std::atomic<bool> in_line = false;
  return in_line;
}

// One write(2) per line, so that lines of several processes on one terminal do not mix, and never
// blocked for long by a stopped terminal or a sleeping reader.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Whether lines are human ones, which wrap at words where stderr is a terminal.
  void set_human(bool is_human) { wraps_ = is_human && ::isatty(STDERR_FILENO) == 1; }

  void set_copy(LogCopy copy) {
    const std::lock_guard lock(mutex_);
    copy_ = std::move(copy);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text;
    if (stderr_in_line().exchange(false)) text = "\n";
    if (copy_) copy_(text + std::string(line.data(), line.size()));
    if (dropped_ > 0) text += fmt::format("({} log lines were dropped here)\n", dropped_);
    text += fitted({line.data(), line.size()});
    if (write(text)) {
      dropped_ = 0;
    } else {
      ++dropped_;
    }
  }

  void flush_() override {}

  [[nodiscard]] std::string fitted(std::string_view line) const {
    winsize size{};
    if (!wraps_ || ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col < kWrapColumnsMin) {
      return std::string(line);
    }
    const std::size_t reset = line.find(kResetColour);
    const std::size_t begin =
        reset == std::string_view::npos ? kPrefixColumns : reset + kResetColour.size() + 1;
    if (line.size() <= begin) return std::string(line);
    return fmt::format(
        "{}{}\n", line.substr(0, begin),
        wrap_indented(line.substr(begin, line.size() - begin - 1), size.ws_col, kPrefixColumns));
  }

  bool write(std::string_view text) {
    while (!text.empty()) {
      pollfd ready{STDERR_FILENO, POLLOUT, 0};
      // Once a line was dropped, the following lines do not wait.
      const int wait_ms = dropped_ > 0 ? 0 : static_cast<int>(kLogStallMax.count());
      if (::poll(&ready, 1, wait_ms) <= 0) return false;
      const std::size_t size = std::min(text.size(), kUnblockedBytes);
      const ssize_t written = ::write(STDERR_FILENO, text.data(), size);
      if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  LogCopy copy_;
  std::uint64_t dropped_ = 0;
  bool wraps_ = false;
};

struct Log {
  Log() : stderr_sink(std::make_shared<StderrSink>()), logger("robustrun", stderr_sink) {
    apply({});
  }

  void apply(const LogOptions& wanted) {
    options = wanted;
    colour = wanted.colour == LogColour::kAlways ||
             (wanted.colour == LogColour::kAuto && ::isatty(STDERR_FILENO) == 1);
    if (wanted.format == LogFormat::kJson) {
      logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
          "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v}", spdlog::pattern_time_type::utc));
    } else {
      logger.set_formatter(std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%e %v"));
    }
    logger.set_level(spdlog::level::trace);  // log_enabled() is the filter
    stderr_sink->set_human(wanted.format == LogFormat::kHuman);
  }

  std::shared_ptr<StderrSink> stderr_sink;
  spdlog::logger logger;
  LogOptions options;
  bool colour = false;
  std::mutex sink_mutex;
  std::shared_ptr<const LogSink> sink;  // null: stderr
};

Log& instance() {
  static Log log;
  return log;
}

// "warn  node0  rank 3  text", or "warn  text" without a context.
std::string human_text(LogLevel level, const LogContext& context, std::string_view text) {
  const bool colour = instance().colour;
  const std::string rank = context.rank ? fmt::format("rank {}", context.rank->value) : "";
  const bool has_context = !context.node.empty() || context.rank;
  const std::string about =
      has_context ? fmt::format("{:<6} {:<8} ", printable(context.node), rank) : "";
  return fmt::format("{}{:<5}{} {}{}", colour ? level_colour(level) : "", level_name(level),
                     colour ? kResetColour : "", about, printable(text));
}

std::string json_text(LogLevel level, const LogContext& context, std::string_view text) {
  std::string out = fmt::format("\"level\":\"{}\"", level_name(level));
  if (!context.node.empty()) out += ",\"node\":" + json_string(context.node);
  if (context.rank) out += fmt::format(",\"rank\":{}", context.rank->value);
  return out + ",\"text\":" + json_string(text);
}

}  // namespace

void configure_log(const LogOptions& options) { instance().apply(options); }

void redirect_log(LogSink sink) {
  auto made = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(instance().sink_mutex);
  instance().sink.swap(made);
}

void copy_log(std::function<void(std::string_view line)> copy) {
  instance().stderr_sink->set_copy(std::move(copy));
}

void set_stderr_in_line(bool in_line) { stderr_in_line() = in_line; }

bool is_stderr_in_line() { return stderr_in_line(); }

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && level >= instance().options.level;
}

void log_line(LogLevel level, const LogContext& context, std::string_view text) {
  if (!log_enabled(level)) return;
  Log& log = instance();
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(log.sink_mutex);
    sink = log.sink;
  }
  if (sink) return (*sink)(level, context, text);
  const bool json = log.options.format == LogFormat::kJson;
  log.logger.log(spdlog::level::info,
                 json ? json_text(level, context, text) : human_text(level, context, text));
}

}  // namespace robustrun::base
