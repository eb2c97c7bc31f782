// `robustrun ls`: the runs of this user.

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/run_rows.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kShownMax = 20;

}  // namespace

int ls_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_ls_line(argv);
  if (!line) return complain_of_usage(around, "ls", line.error().what);
  if (line->help) {
    print(command_help("ls", terminal_columns(around)));
    return 0;
  }
  const std::vector<KnownRun> runs = known_runs(around);
  if (line->ids) {
    for (const KnownRun& run : runs) print(base::printable(run.id) + "\n");
    return 0;
  }
  const std::vector<RunChain> chains = chains_of(runs);
  std::vector<RunRow> rows;
  for (const RunChain& chain : chains) {
    if (!line->all && rows.size() == kShownMax) break;
    rows.push_back(row_of(chain, around));
  }
  print(line->json ? runs_json(rows) : runs_text(rows));
  if (rows.size() < chains.size()) {
    const std::size_t left = chains.size() - rows.size();
    say(fmt::format("{}; --all shows {}", base::counted(left, "older run"),
                    left == 1 ? "it" : "them"));
  }
  return 0;
}

}  // namespace robustrun::cli
