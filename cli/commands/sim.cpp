#include <fmt/format.h>

#include <algorithm>

#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/runs/sim_journals.h"
#include "cli/sim/plan.h"
#include "cli/text/sim_replay_text.h"
#include "cli/text/sim_svg.h"
#include "cli/text/sim_text.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {
namespace {

constexpr unsigned kPictureMode = 0644;

base::Result<std::optional<simulator::Site>> site_of_journals(
    const std::vector<std::string>& journals) {
  if (journals.empty()) return std::nullopt;
  return simulator::site_of(RR_TRY(read_sim_journals(journals)));
}

// Without --from-journal the run's own journal provides the times.
base::Result<ReplayShown> play_again(const SimLine& line, std::vector<std::string> journals,
                                     const Surroundings& around) {
  const std::string path = RR_TRY(find_journal(*line.replay, around));
  const supervisor::JournalReadout readout = RR_TRY(read_journal(path));
  ReplayShown shown;
  if (journals.empty()) journals = {path};
  shown.calibrated_by_itself = std::ranges::find(journals, path) != journals.end();
  shown.site = *RR_TRY(site_of_journals(journals));
  simulator::ReplayRequest request = RR_TRY(plan_sim_replay(line, shown.site));
  request.run = &readout.entries;
  request.name = run_name(path);
  shown.replay = RR_TRY(simulator::replay_run(request));
  shown.figures = figures_of(request.job, request.times);
  return shown;
}

base::Status write_picture(const std::string& path, const std::string& picture) {
  const auto written = base::write_output(path, picture, kPictureMode);
  if (written) return {};
  return std::unexpected(
      base::Error{written.error().code, written.error().os_errno,
                  fmt::format("cannot use --svg={}: {}", path, written.error().what)});
}

}  // namespace

int sim_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_sim_line(argv);
  if (!line) return complain_of_usage(around, "sim", line.error().what);
  if (line->help) {
    print(command_help("sim", terminal_columns(around)));
    return 0;
  }
  const auto journals = find_sim_journals(line->from_journal, around);
  if (!journals) return complain(journals.error());
  if (line->replay) {
    const auto shown = play_again(*line, *journals, around);
    if (!shown) return complain(shown.error());
    print(line->json ? replay_json(*shown) : replay_text(*shown));
    return 0;
  }
  const auto site = site_of_journals(*journals);
  if (!site) return complain(site.error());
  const auto request = plan_sim(*line, around, *site);
  if (!request) return complain(request.error());
  const simulator::Study study = simulator::run_study(*request);
  if (line->svg) {
    const auto written = write_picture(*line->svg, sim_svg(*request, study));
    if (!written) return complain(written.error());
  }
  print(line->json ? sim_json(*request, study) : sim_text(*request, study));
  return 0;
}

}  // namespace robustrun::cli
