#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/values.h"
#include "cli/runs/end_elsewhere.h"
#include "cli/runs/end_of_run.h"
#include "cli/runs/find_run.h"
#include "supervisor/control/client.h"
#include "supervisor/control/operation_request.h"
#include "supervisor/run/remote_stop.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using supervisor::ControlClient;

constexpr int kExitNotDone = 1;
// A run bounds its own end; this limit only keeps the arithmetic of poll() in range.
constexpr std::chrono::hours kWaitMax{24 * 366};

base::Result<supervisor::StopRequest> read_request(const StopLine& line) {
  supervisor::StopRequest request;
  if (line.signal) {
    request.signal = base::signal_number(*line.signal);
    if (request.signal == 0 || request.signal == SIGKILL || request.signal == SIGSTOP) {
      return base::fail(Errc::kInvalidArgument,
                        fmt::format("argument --signal: invalid value: '{}' (a signal that a "
                                    "process can handle; --grace 0 kills)",
                                    *line.signal));
    }
  }
  if (line.grace) {
    request.grace = parse_duration(*line.grace);
    if (!request.grace || *request.grace > supervisor::kStopGraceMax) {
      return base::fail(Errc::kInvalidArgument,
                        fmt::format("argument --grace: invalid time: '{}' (seconds, or 200ms, "
                                    "90s, 15m, 2h; at most 24h)",
                                    *line.grace));
    }
  }
  return request;
}

int say_the_end(const std::string& directory) {
  const auto report = report_of(directory);
  if (!report) return complain(report.error());
  say(end_in_words(*report));
  return report->exit_code ? 0 : kExitNotDone;
}

// The supervisor does not answer. No process is signalled by pid: the pid may have been reused.
int say_why_not(const std::string& directory, const base::Error& why) {
  const auto report = report_of(directory);
  if (report && report->exit_code) return say_the_end(directory);
  say(why.what);
  if (!report) {
    say(report.error().what);
  } else if (why.what.find("robustrun resume") == std::string::npos) {
    say(fmt::format(
        "its journal has no end; if its supervisor is gone, `robustrun resume {}` takes "
        "it over",
        std::filesystem::path(directory).filename().string()));
  }
  return kExitNotDone;
}

bool has_ended(const std::string& directory) {
  const auto report = report_of(directory);
  return report && report->exit_code;
}

int say_that_it_ends(const std::string& directory) {
  say(fmt::format("run {} is ending", std::filesystem::path(directory).filename().string()));
  return 0;
}

// The supervisor is on another machine, or gone. `why`: the error of the local connection.
int stop_elsewhere(const std::string& directory, const supervisor::StopRequest& request, bool wait,
                   const base::Error& why) {
  if (has_ended(directory)) return say_the_end(directory);
  if (const auto heard = supervisor::stop_remotely(directory, request); !heard) {
    if (heard.error().code != Errc::kNotFound) {
      say(fmt::format("not reachable over the network either: {}", heard.error().what));
    }
    return say_why_not(directory, why);
  }
  if (!wait) return say_that_it_ends(directory);
  const EndElsewhere end{
      [&] { return has_ended(directory); }, [&] { return supervisor::reach_remotely(directory); },
      [](std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }};
  if (const auto ended = wait_for_end_elsewhere(end, base::SystemClock()); !ended) {
    return say_why_not(directory, ended.error());
  }
  return say_the_end(directory);
}

int stop(const std::string& directory, const supervisor::StopRequest& request, bool wait) {
  auto client = ControlClient::connect(directory);
  if (!client) {
    if (client.error().code == Errc::kPermission) return complain(client.error());
    return stop_elsewhere(directory, request, wait, client.error());
  }
  client->wait_at_most(kSupervisorAnswerMax);
  if (const auto answer = client->ask(supervisor::to_fields(request)); !answer) {
    return say_why_not(directory, answer.error());
  }
  if (!wait) return say_that_it_ends(directory);
  if (const auto ended = client->wait_for_end(kWaitMax); !ended) return complain(ended.error());
  return say_the_end(directory);
}

}  // namespace

int stop_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_stop_line(argv);
  if (!line) return complain_of_usage(around, "stop", line.error().what);
  if (line->help) {
    print(command_help("stop", terminal_columns(around)));
    return 0;
  }
  const auto request = read_request(*line);
  if (!request) return complain_of_usage(around, "stop", request.error().what);
  const auto directory = find_run(line->run, Pick::kTheLiveOne, around);
  if (!directory) return complain(directory.error());
  return stop(*directory, *request, !line->no_wait);
}

}  // namespace robustrun::cli
