// `robustrun data plan FILE`: what a specification of data means for a job.
// `robustrun data prepare FILE`: tokenizes its sources that are text.
// `robustrun data bench FILE`: how fast this machine feeds one rank.
// `robustrun data audit FILE PATH...`: whether a training was given each sample once.

#include <chrono>
#include <filesystem>
#include <numeric>

#include "base/core/clock.h"
#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/data/spec_file.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/plan/python_module.h"
#include "cli/text/data_plan_text.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kSpecBytesMax = std::size_t{4} << 20U;
constexpr std::int64_t kStepsPlanned = 20;

// Shares of the samples that the mixture asks for, over the steps that were planned.
class Asked {
 public:
  explicit Asked(const loader::Spec& spec) : spec_(spec), owed_(spec.sources.size()) {}

  void add(std::uint64_t step, std::uint64_t samples) {
    double sum = 0;
    for (const loader::Source& source : spec_.sources) {
      sum += static_cast<double>(loader::weight_at(source, step));
    }
    for (std::size_t i = 0; i < owed_.size(); ++i) {
      owed_[i] += static_cast<double>(loader::weight_at(spec_.sources[i], step)) / sum *
                  static_cast<double>(samples);
    }
  }
  [[nodiscard]] std::vector<double> shares() const {
    const double all = std::accumulate(owed_.begin(), owed_.end(), 0.0);
    std::vector<double> shares;
    for (const double owed : owed_) shares.push_back(all > 0 ? owed / all : 0);
    return shares;
  }

 private:
  const loader::Spec& spec_;
  std::vector<double> owed_;
};

std::uint64_t drawn(const loader::Cursor& cursor) {
  std::uint64_t sum = 0;
  for (const loader::SourceCursor& source : cursor.sources) sum += source.position;
  return sum;
}

base::Result<DataPlanShown> plan_data(const DataLine& line, const Surroundings& around) {
  DataPlanShown shown;
  shown.path = line.file;
  shown.ranks = static_cast<std::uint32_t>(line.ranks.value_or(1));
  const std::string path = around.absolute(line.file);
  const std::string text = RR_TRY(base::read_input(path, kSpecBytesMax));
  shown.spec = RR_TRY(parse_data_spec(text, line.file));
  if (const auto shared = loader::check_ranks(shown.spec, shown.ranks); !shared) {
    return base::fail(shared.error().code, line.file + ": " + shared.error().what);
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  std::vector<loader::SampleLengths> lengths;
  for (const loader::Source& source : shown.spec.sources) {
    shown.sources.push_back(
        RR_TRY(loader::read_index(shown.spec, source, folder, loader::Lengths::kEstimates)));
  }
  for (const loader::SourceIndex& source : shown.sources) lengths.emplace_back(source.lengths);
  auto planner = RR_TRY(loader::Planner::open(shown.spec, lengths));
  Asked asked(shown.spec);
  const base::SystemClock clock;
  base::Nanos planning{};
  const std::int64_t steps = line.steps.value_or(kStepsPlanned);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::uint64_t before = drawn(planner.cursor());
    const base::Nanos began = clock.now();
    const loader::StepPlan plan = RR_TRY(planner.next());
    planning += clock.now() - began;
    asked.add(plan.step, drawn(planner.cursor()) - before);
    shown.steps.push_back(loader::figures_of(shown.spec, plan, shown.ranks));
    shown.digest = loader::digest(plan);
  }
  shown.asked = asked.shares();
  shown.end = planner.cursor();
  shown.plan_ms =
      std::chrono::duration<double, std::milli>(planning).count() / static_cast<double>(steps);
  return shown;
}

int prepare_data(const DataLine& line, const Surroundings& around) {
  const std::string path = around.absolute(line.file);
  const auto text = base::read_input(path, kSpecBytesMax);
  if (!text) return complain(text.error());
  if (const auto spec = parse_data_spec(*text, line.file); !spec) return complain(spec.error());
  std::vector<std::string> arguments{line.file};
  if (line.processes) arguments.push_back("--processes=" + std::to_string(*line.processes));
  if (line.part) arguments.push_back("--part=" + *line.part);
  const auto code = run_python_module("robustrun._data.prepare", arguments, around);
  return code ? *code : complain(code.error());
}

int bench_data(const DataLine& line, const Surroundings& around) {
  std::vector<std::string> arguments;
  if (line.json) arguments.push_back("--json");
  if (line.ranks) arguments.push_back("--ranks=" + std::to_string(*line.ranks));
  if (line.seconds) arguments.push_back("--seconds=" + std::to_string(*line.seconds));
  arguments.push_back("--");
  arguments.push_back(line.file);
  const auto code = run_python_module("robustrun._data.bench", arguments, around);
  return code ? *code : complain(code.error());
}

int audit_data(const DataLine& line, const Surroundings& around) {
  std::vector<std::string> arguments;
  if (line.json) arguments.push_back("--json");
  arguments.push_back("--");
  arguments.push_back(line.file);
  arguments.insert(arguments.end(), line.checkpoints.begin(), line.checkpoints.end());
  const auto code = run_python_module("robustrun._data.audit", arguments, around);
  return code ? *code : complain(code.error());
}

}  // namespace

int data_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_data_line(argv);
  if (!line) return complain_of_usage(around, "data", line.error().what);
  if (line->help) {
    print(command_help("data", terminal_columns(around)));
    return 0;
  }
  if (line->verb == "prepare") return prepare_data(*line, around);
  if (line->verb == "bench") return bench_data(*line, around);
  if (line->verb == "audit") return audit_data(*line, around);
  const auto shown = plan_data(*line, around);
  if (!shown) return complain(shown.error());
  print(line->json ? data_plan_json(*shown) : data_plan_text(*shown));
  return supervisor::kExitSuccess;
}

}  // namespace robustrun::cli
