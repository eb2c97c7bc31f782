#include <fmt/format.h>
#include <signal.h>

#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/values.h"
#include "cli/runs/end_of_run.h"
#include "cli/runs/find_run.h"
#include "cli/runs/follow.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// The end of a run without a supervisor: its exit code, if the journal has one.
int end_known(const std::string& directory, const base::Error& why) {
  const auto report = report_of(directory);
  if (!report || !report->exit_code) {
    say(why.what);
    return report ? supervisor::kExitFailure : supervisor::kExitUsage;
  }
  say(end_in_words(*report) + "; `robustrun report` has the details");
  return *report->exit_code;
}

int leave(const std::string& directory) {
  const std::string name = std::filesystem::path(directory).filename();
  say(fmt::format("detached; the run continues; robustrun stop {} ends it", name));
  return 0;
}

int attach(const std::string& directory, std::uint64_t lines, const Surroundings& around) {
  auto client = supervisor::ControlClient::connect(directory);
  if (!client) {
    const bool may_have_ended = client.error().code == base::Errc::kNotFound;
    return may_have_ended ? end_known(directory, client.error()) : complain(client.error());
  }
  const auto signals = SignalReader::open({SIGINT});
  if (!signals) return complain(signals.error());
  Follower follower(*client, *signals, lines);
  const Followed followed = follower.follow(false);
  switch (followed.end) {
    case Followed::End::kRunEnded:
      print_final_report(directory, around, false);
      return followed.exit_code;
    case Followed::End::kLost: return end_known(directory, *followed.error);
    case Followed::End::kUp:
    case Followed::End::kInterrupted:
    case Followed::End::kReaderGone: break;
  }
  return leave(directory);
}

}  // namespace

int attach_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_attach_line(argv);
  if (!line) return complain_of_usage(around, "attach", line.error().what);
  if (line->help) {
    print(command_help("attach", terminal_columns(around)));
    return 0;
  }
  const auto lines = parse_integer(line->lines.value_or("0"));
  if (!lines || *lines < 0 || static_cast<std::uint64_t>(*lines) > supervisor::kOutputLinesMax) {
    return complain_of_usage(around, "attach",
                             fmt::format("argument --lines: invalid value: '{}'", *line->lines));
  }
  const auto directory = find_run(line->run, Pick::kLive, around);
  if (!directory) return complain(directory.error());
  return attach(*directory, static_cast<std::uint64_t>(*lines), around);
}

}  // namespace robustrun::cli
