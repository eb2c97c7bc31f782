#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/plan/update_plan.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/runs/run_update.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/core/status/version_list.h"

namespace robustrun::cli {
namespace {

constexpr int kExitNotTaken = 1;

int list_versions(const std::string& directory, bool json) {
  const auto readout = read_journal(directory + "/journal");
  if (!readout) return complain(readout.error());
  const auto folded = supervisor::fold(readout->entries);
  if (!folded) return complain(folded.error());
  const auto list =
      supervisor::list_versions(folded->job.versions(), folded->run.wall_time - folded->started);
  print(json ? supervisor::versions_json(list) + "\n" : supervisor::versions_text(list));
  return 0;
}

int ask_for_update(const std::string& directory, const UpdateLine& line, UpdatePlan plan,
                   const Surroundings& around) {
  const auto done = update_run(directory, line, std::move(plan), around);
  if (!done) return complain(done.error());
  if (done->taken) print(done->version + "\n");
  say(done->text);
  return done->taken ? 0 : kExitNotTaken;
}

}  // namespace

int update_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_update_line(argv);
  if (!line) return complain_of_usage(around, "update", line.error().what);
  if (line->help) {
    print(command_help("update", terminal_columns(around)));
    return 0;
  }
  if (line->list) {
    const auto directory = find_run(line->run, Pick::kLiveFirst, around);
    if (!directory) return complain(directory.error());
    return list_versions(*directory, line->json);
  }
  auto plan = plan_update(*line);
  if (!plan) return complain_of_usage(around, "update", plan.error().what);
  const auto directory = find_run(line->run, Pick::kTheLiveOne, around);
  if (!directory) return complain(directory.error());
  return ask_for_update(*directory, *line, *std::move(plan), around);
}

}  // namespace robustrun::cli
