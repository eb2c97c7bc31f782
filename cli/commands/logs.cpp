// `robustrun logs`: the workers' output from their files, also while they write.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "cli/runs/follow.h"
#include "cli/runs/log_files.h"
#include "cli/runs/read_journal.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;  // longer lines are shown in pieces
constexpr int kFollowPauseMs = 200;

// POSIX extended regular expressions, as `grep -E` has them.
class LinePattern {
 public:
  static base::Result<LinePattern> make(const std::string& text) {
    LinePattern pattern;
    const int error = ::regcomp(pattern.compiled_.get(), text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) {
      pattern.matches_ = true;
      return pattern;
    }
    char words[256] = "";
    ::regerror(error, pattern.compiled_.get(), words, sizeof words);
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("argument --grep: {}: '{}'", words, text));
  }
  LinePattern() = default;
  LinePattern(LinePattern&&) = default;
  LinePattern& operator=(LinePattern&&) = default;
  ~LinePattern() {
    if (compiled_ && matches_) ::regfree(compiled_.get());
  }
  [[nodiscard]] bool takes(const std::string& line) const {
    return !matches_ || ::regexec(compiled_.get(), line.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  std::unique_ptr<regex_t> compiled_ = std::make_unique<regex_t>();
  bool matches_ = false;  // there is an expression
};

// One file that may grow.
class LogFile {
 public:
  LogFile(std::string path, std::string prefix) : path_(std::move(path)), prefix_(prefix) {}

  // Prints the lines that are whole, and with `all` also what is left of an unfinished one.
  void show(const LinePattern& pattern, bool all) {
    if (!file_) file_ = base::Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_) return;
    std::string chunk(kReadBytes, '\0');
    for (;;) {
      const ssize_t size = ::read(file_.get(), chunk.data(), chunk.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      take(std::string_view(chunk.data(), static_cast<std::size_t>(size)), pattern);
    }
    if (all && !rest_.empty()) print_line(std::exchange(rest_, {}), pattern);
  }

 private:
  void take(std::string_view bytes, const LinePattern& pattern) {
    rest_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1) {
      print_line(rest_.substr(begin, end - begin), pattern);
    }
    rest_.erase(0, begin);
    if (rest_.size() >= kLineBytesMax) print_line(std::exchange(rest_, {}), pattern);
  }
  void print_line(const std::string& line, const LinePattern& pattern) const {
    if (pattern.takes(line)) print(prefix_ + line + "\n");
  }

  std::string path_;
  std::string prefix_;
  std::string rest_;
  base::Fd file_;
};

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

class LogView {
 public:
  LogView(const LogsLine& line, std::string directory, LinePattern pattern)
      : line_(line), directory_(std::move(directory)), pattern_(std::move(pattern)) {}

  base::Status open() {
    use(RR_TRY(read()));
    return {};
  }

  void show(bool all) {
    for (LogFile& file : files_) file.show(pattern_, all);
  }

  // The output of ranks on other machines may lie on disks that this one does not see.
  void name_missing() const {
    struct Missing {
      std::vector<std::string> ranks;
      std::string folder;
    };
    std::map<std::string, Missing> missing;  // by host
    for (const RankLog& log : shown_.ranks) {
      if (exists(log.folder)) continue;
      Missing& there = missing[log.host];
      there.ranks.push_back(std::to_string(log.rank));
      there.folder = std::filesystem::path(log.folder).parent_path().string();
    }
    for (const auto& [host, there] : missing) {
      say(fmt::format("the logs of {} {} are not here; on {} look into {}",
                      there.ranks.size() == 1 ? "rank" : "ranks", base::join(there.ranks, ", "),
                      host, there.folder));
    }
  }

  // Until the run ends, or Ctrl-C.
  void follow(const SignalReader& signals) {
    for (;;) {
      show(false);
      if (has_ended_ || !is_live(directory_)) {
        static_cast<void>(open_newer());
        return show(true);
      }
      pollfd waits{signals.fd(), POLLIN, 0};
      if (::poll(&waits, 1, kFollowPauseMs) > 0) return;
      if (auto opened = open_newer(); !opened) {
        show(true);
        return say(opened.error().what);
      }
    }
  }

 private:
  base::Result<AttemptLogs> read() {
    const auto journal = RR_TRY(read_journal(directory_ + "/journal"));
    has_ended_ = std::ranges::any_of(journal.entries, [](const auto& entry) {
      return std::holds_alternative<supervisor::Finish>(entry.what);
    });
    AttemptLogs logs = RR_TRY(logs_of(journal.entries, line_.attempt, exists));
    if (line_.rank) {
      std::erase_if(logs.ranks, [&](const RankLog& log) { return log.rank != *line_.rank; });
      if (logs.ranks.empty()) {
        return base::fail(base::Errc::kNotFound,
                          fmt::format("attempt {} has no rank {}", logs.attempt, *line_.rank));
      }
    }
    return logs;
  }

  void use(AttemptLogs logs) {
    shown_ = std::move(logs);
    files_.clear();
    for (const RankLog& log : shown_.ranks) {
      const std::string prefix =
          shown_.ranks.size() > 1 ? fmt::format("[{}] ", log.rank) : std::string();
      if (!line_.only_stderr) files_.emplace_back(log.folder + "/stdout.log", prefix);
      files_.emplace_back(log.folder + "/stderr.log", prefix);
    }
  }

  // A restart writes into new folders.
  base::Status open_newer() {
    if (line_.attempt) return {};
    const bool has_begun = std::ranges::any_of(shown_.ranks, [this](const RankLog& log) {
      const std::filesystem::path now = log.folder;
      return exists(now.parent_path().parent_path() /
                    fmt::format("attempt_{}", shown_.attempt + 1) / now.filename());
    });
    if (!has_begun) return {};
    AttemptLogs newer = RR_TRY(read());
    if (newer.attempt == shown_.attempt) return {};  // the journal does not have it yet
    show(true);
    use(std::move(newer));
    say(fmt::format("attempt {}", shown_.attempt));
    return {};
  }

  const LogsLine& line_;
  std::string directory_;
  LinePattern pattern_;
  AttemptLogs shown_;
  std::vector<LogFile> files_;
  bool has_ended_ = false;
};

}  // namespace

int logs_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_logs_line(argv);
  if (!line) return complain_of_usage(around, "logs", line.error().what);
  if (line->help) {
    print(command_help("logs", terminal_columns(around)));
    return 0;
  }
  auto pattern = line->grep ? LinePattern::make(*line->grep) : LinePattern();
  if (!pattern) return complain_of_usage(around, "logs", pattern.error().what);
  const auto directory = find_run(line->run, Pick::kLiveFirst, around);
  if (!directory) return complain(directory.error());
  LogView view(*line, *directory, *std::move(pattern));
  if (auto opened = view.open(); !opened) {
    opened.error().what = "cannot show logs: " + opened.error().what;
    return complain(opened.error());
  }
  view.name_missing();
  if (!line->follow) {
    view.show(true);
    return 0;
  }
  const auto signals = SignalReader::open({SIGINT});
  if (!signals) return complain(signals.error());
  view.follow(*signals);
  return 0;
}

}  // namespace robustrun::cli
