#include <fmt/format.h>

#include "base/io/fd.h"
#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/parser.h"
#include "cli/sim_plan.h"
#include "cli/sim_text.h"

namespace robustrun::cli {
namespace {

constexpr unsigned kPictureMode = 0644;

}  // namespace

int sim_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_sim_line(argv);
  if (!line) return complain_of_usage(around, line.error().what);
  if (line->help) {
    print(sim_help());
    return 0;
  }
  const auto request = plan_sim(*line, around);
  if (!request) return complain(request.error());
  const simulator::Study study = simulator::run_study(*request);
  if (line->svg) {
    const auto written =
        base::write_file_atomically(*line->svg, sim_svg(*request, study), kPictureMode);
    if (!written) {
      return complain({written.error().code, written.error().os_errno,
                       fmt::format("cannot use --svg={}: {}", *line->svg, written.error().what)});
    }
  }
  print(line->json ? sim_json(*request, study) : sim_text(*request, study));
  return 0;
}

}  // namespace robustrun::cli
