#include <fmt/format.h>

#include <filesystem>

#include "base/core/clock.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/plan/inject_plan.h"
#include "cli/runs/end_of_run.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "supervisor/control/client.h"

namespace robustrun::cli {
namespace {

using supervisor::ControlClient;

constexpr int kExitNotDone = 1;

// kUnavailable: the run has ended.
base::Status inject_once(ControlClient& client, const InjectPlan& plan, base::Rng& rng) {
  supervisor::FaultRequest request = plan.fault;
  request.draw = rng.next();
  const auto fields = RR_TRY(client.ask(supervisor::to_fields(request)));
  const auto report = RR_TRY(supervisor::read_fault_report(fields));
  print(injection_text(base::SystemClock().wall_time(), request.kind, report) + "\n");
  return {};
}

int inject(ControlClient& client, const InjectPlan& plan) {
  base::Rng rng(plan.seed);
  if (plan.after > base::Nanos{} && !client.wait(plan.after)) {
    say("the run ended before --after");
    return kExitNotDone;
  }
  bool any = false;
  do {
    const auto done = inject_once(client, plan, rng);
    any = any || done.has_value();
    if (done) continue;
    const bool over = done.error().code == base::Errc::kUnavailable;
    // Without workers, during a restart, an injection fails and the next one may succeed.
    if (!over || !any) {
      say(fmt::format("cannot inject {}: {}", wire::find_fault(plan.fault.kind)->name,
                      done.error().what));
    }
    if (over || done.error().code == base::Errc::kTimeout) break;
  } while (plan.every && client.wait(*plan.every));
  return any ? 0 : kExitNotDone;
}

}  // namespace

int inject_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_inject_line(argv);
  if (!line) return complain_of_usage(around, "inject", line.error().what);
  if (line->help) {
    print(command_help("inject", terminal_columns(around)));
    return 0;
  }
  const auto plan = plan_injection(*line, around.seed >> 1);  // within the range of --seed
  if (!plan) return complain_of_usage(around, "inject", plan.error().what);
  const auto journal = find_journal(plan->run, around);
  if (!journal) return complain(journal.error());
  const std::string directory = std::filesystem::path(*journal).parent_path().string();
  note_damage(directory);
  auto client = ControlClient::connect(directory);
  if (!client) {
    const auto report = report_of(directory);
    if (!report || !report->exit_code) return complain(client.error());
    say(end_in_words(*report));
    return kExitNotDone;
  }
  if (plan->draws) say(fmt::format("the target is drawn with --seed {}", plan->seed));
  return inject(*client, *plan);
}

}  // namespace robustrun::cli
