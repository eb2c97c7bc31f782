// `robustrun demo`: a real training of two ranks, of which one is killed; the run recovers.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/core/words.h"
#include "base/io/tool.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/placement/places.h"
#include "cli/plan/program.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// Long enough after the start for standby workers to be ready, on a slow machine too.
constexpr int kSteps = 600;
constexpr int kKilledAt = 310;  // a checkpoint is written every 25 steps: ten are done again

base::Result<std::string> interpreter_with_torch(const Surroundings& around) {
  const std::string interpreter = RR_TRY(find_interpreter(around));
  constexpr const char* kFind =
      "import importlib.util as util, sys; sys.exit(util.find_spec('torch') is None)";
  const auto asked = base::run_tool({interpreter, "-c", kFind}, kDeviceQueryMax);
  if (asked && asked->status.success()) return interpreter;
  return base::fail(
      base::Errc::kNotFound,
      fmt::format("cannot run the demo: {} has no torch; `pip install torch` into it, "
                  "or set PYTHON_EXEC to an interpreter that has it",
                  interpreter));
}

base::Result<std::string> make_folder(const Surroundings& around) {
  std::string name = temporary_folder(around) + "/robustrun-demo-XXXXXX";
  if (::mkdtemp(name.data()) != nullptr) return name;
  return base::fail_errno("cannot make the folder " + name + "; set TMPDIR to another", errno);
}

// Each line of the curve is a step and its exact loss; a step that was done again has two.
struct Curve {
  std::size_t steps = 0;
  std::size_t done_again = 0;
  bool is_equal = true;  // what was done again gave the same loss
};

Curve read_curve(const std::string& path) {
  std::map<std::string, std::multiset<std::string>> losses;
  std::ifstream file(path);
  for (std::string step, loss; file >> step >> loss;) losses[step].insert(loss);
  Curve curve{losses.size(), 0, true};
  for (const auto& [step, each] : losses) {
    if (each.size() > 1) ++curve.done_again;
    if (each.count(*each.begin()) != each.size()) curve.is_equal = false;
  }
  return curve;
}

}  // namespace

int demo_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_demo_line(argv);
  if (!line) return complain_of_usage(around, "demo", line.error().what);
  if (line->help) {
    print(command_help("demo", terminal_columns(around)));
    return 0;
  }
  const auto interpreter = interpreter_with_torch(around);
  if (!interpreter) return complain(interpreter.error());
  const auto folder = make_folder(around);
  if (!folder) return complain(folder.error());
  const std::string script = (std::filesystem::path(around.executable).parent_path().parent_path() /
                              "share/robustrun/examples/train.py")
                                 .string();
  say(fmt::format("two ranks train a small network; after step {} rank 1 is killed with SIGKILL",
                  kKilledAt));
  const std::vector<std::string> run{"--nproc-per-node=2",
                                     "--run-dir=" + *folder,
                                     script,
                                     "--steps=" + std::to_string(kSteps),
                                     "--die-at=" + std::to_string(kKilledAt),
                                     "--slow=0.02",
                                     "--checkpoint=" + *folder + "/checkpoints",
                                     "--curve=" + *folder + "/curve",
                                     "--print-every=50"};
  const int code = run_command(run, around);
  if (code != supervisor::kExitSuccess) return code;
  const Curve curve = read_curve(*folder + "/curve");
  if (curve.steps != kSteps || curve.done_again == 0 || !curve.is_equal) {
    say(fmt::format("the demo failed: {} of {} steps, {} done again, {}", curve.steps, kSteps,
                    curve.done_again, curve.is_equal ? "equal losses" : "different losses"));
    return supervisor::kExitFailure;
  }
  say(fmt::format("{} done again after the restart, each with the same loss to the last bit",
                  base::counted(curve.done_again, "step")));
  say(fmt::format("`robustrun report latest` shows the report again; all files are in {}",
                  *folder));
  return 0;
}

}  // namespace robustrun::cli
