#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_status.h"
#include "supervisor/control/client.h"
#include "supervisor/core/status/render.h"

namespace robustrun::cli {
namespace {

using supervisor::ControlClient;
using supervisor::RunStatus;

constexpr int kExitSilent = 1;
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J\x1b[3J";
// Screen lines that the table of nodes does not get.
constexpr int kLinesAboveTable = 18;
constexpr std::size_t kTableLinesMin = 4;

// Keeps one connection to the supervisor, and connects again when it is lost.
class Source {
 public:
  Source(std::string directory, const Surroundings& around)
      : directory_(std::move(directory)), around_(around) {}

  base::Result<RunStatus> read() {
    if (!client_) connect();
    if (client_) {
      auto status = ask_status(*client_);
      if (status) return status;
      note_failure(status.error(), status.error().code != base::Errc::kUnavailable);
      client_.reset();
    }
    auto status = read_journal_status(directory_, around_);
    if (!status || status->supervisor != supervisor::SupervisorStatus::kSilent) return status;
    status->is_busy = is_busy_;
    return status;
  }

  // Why the supervisor was silent at the last read().
  void say_why() const {
    say(is_busy_ ? why_ : fmt::format("the supervisor does not answer ({})", why_));
  }

  void pause() {
    if (client_ && client_->wait(kStatusWatchInterval)) return;
    client_.reset();
    ::poll(nullptr, 0, static_cast<int>(std::chrono::milliseconds(kStatusWatchInterval).count()));
  }

 private:
  void note_failure(const base::Error& error, bool is_busy) {
    is_busy_ = is_busy;
    why_ = error.what;  // of a refusal: it says what to do
    if (!is_busy || error.code != base::Errc::kTimeout) return;
    if (client_) {
      why_ = fmt::format("the supervisor did not answer within {} s, but its process is there",
                         kSupervisorAnswerMax.count());
    }
    why_ += "; try again";
  }

  void connect() {
    auto client = ControlClient::connect(directory_);
    if (client) {
      client_ = *std::move(client);
    } else {
      note_failure(client.error(), client.error().code == base::Errc::kTimeout);
    }
  }

  std::string directory_;
  const Surroundings& around_;
  std::optional<ControlClient> client_;
  std::string why_;
  bool is_busy_ = false;  // its process is there
};

std::size_t table_lines(bool watch) {
  winsize size{};
  if (!watch || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return SIZE_MAX;
  return std::max(kTableLinesMin, static_cast<std::size_t>(std::max(
                                      0, static_cast<int>(size.ws_row) - kLinesAboveTable)));
}

std::string text_of(const RunStatus& status, const StatusLine& line, const Surroundings& around) {
  if (line.json) return supervisor::status_json(status) + "\n";
  std::string text =
      supervisor::render_status(status, around.takes_colour(around.stdout_is_terminal),
                                terminal_columns(around), table_lines(line.watch));
  if (!line.watch) return text;
  return around.stdout_is_terminal ? std::string(kClearScreen) + text : text + "\n";
}

}  // namespace

int status_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_status_line(argv);
  if (!line) return complain_of_usage(around, "status", line.error().what);
  if (line->help) {
    print(command_help("status", terminal_columns(around)));
    return 0;
  }
  const auto directory = find_run(line->run, Pick::kLiveFirst, around);
  if (!directory) return complain(directory.error());
  Source source(*directory, around);
  const auto earlier = earlier_starts(*directory);
  for (;;) {
    auto status = source.read();
    if (!status) return complain(status.error());
    status->earlier_starts = earlier;
    print(text_of(*status, *line, around));
    const bool is_silent = status->supervisor == supervisor::SupervisorStatus::kSilent;
    if (is_silent) source.say_why();  // below the table, which begins by clearing the screen
    if (!line->watch || status->supervisor == supervisor::SupervisorStatus::kEnded) {
      return is_silent ? kExitSilent : 0;
    }
    source.pause();
  }
}

}  // namespace robustrun::cli
