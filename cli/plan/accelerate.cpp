#include "cli/plan/accelerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "cli/plan/program.h"
#include "cli/plan/workers.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr OptionId kAccelerateOption = OptionId::kAccelerateConfig;

// Records of the helper.
struct AccelerateAnswer {
  std::map<std::string, std::string, std::less<>> numbers;  // and addresses, by key of the file
  AcceleratePlan plan;
};

Result<AccelerateAnswer> parse_records(std::string_view text) {
  AccelerateAnswer answer;
  while (!text.empty()) {
    const std::string_view record = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(record.size() + 1, text.size()));
    const auto space = record.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view kind = record.substr(0, space);
    std::string value(record.substr(space + 1));
    if (kind == "error") return fail(Errc::kInvalidArgument, base::printable(value));
    if (kind == "warning") {
      answer.plan.warnings.push_back(base::printable(value));
    } else if (kind == "set") {
      answer.plan.environment.push_back(std::move(value));
    } else {
      answer.numbers.emplace(kind, std::move(value));
    }
  }
  return answer;
}

// Workers on one machine, as far as that is known before the machines are; 0: not given.
std::int64_t known_workers(const Settings& settings, const Surroundings& around) {
  if (!settings.given(OptionId::kNprocPerNode)) return 0;
  const auto number = settings.integer(OptionId::kNprocPerNode);
  return number.value_or(around.cpus);
}

Result<AccelerateAnswer> ask_accelerate(const Settings& settings, const Surroundings& around) {
  // Reading a pipe that no process writes to would not end.
  const PathKind kind = around.machine->kind(settings.text(kAccelerateOption));
  if (kind == PathKind::kOther || kind == PathKind::kSocket) {
    return cannot_use(settings, kAccelerateOption, Errc::kInvalidArgument,
                      "it is not a regular file");
  }
  const std::string script = python_folder(around) + "/robustrun/_boot/accelerate.py";
  if (around.machine->kind(script) != PathKind::kFile) {
    return cannot_use(settings, kAccelerateOption, Errc::kNotFound,
                      fmt::format("there is no {}; install robustrun again", script));
  }
  const std::string interpreter = RR_TRY(find_interpreter(around));
  const std::string workers = std::to_string(known_workers(settings, around));
  const auto told = around.machine->ask_python(
      {interpreter, script, settings.text(kAccelerateOption), workers}, kAccelerateMax);
  if (!told) return cannot_use(settings, kAccelerateOption, told.error().code, told.error().what);
  if (!told->status.success()) {
    const auto lines = base::split(base::trim(told->err), '\n');
    return cannot_use(settings, kAccelerateOption, Errc::kUnavailable,
                      fmt::format("{} cannot ask accelerate: {}", interpreter,
                                  lines.back().empty() ? base::describe(told->status)
                                                       : base::printable(lines.back())));
  }
  return parse_records(told->out);
}

// Machines that the user names otherwise, or Slurm gives, take the place of the file's.
bool has_own_machines(const Settings& settings, const Surroundings& around) {
  return settings.given(OptionId::kNnodes) || settings.given(OptionId::kHosts) ||
         settings.given(OptionId::kHostfile) || settings.given(OptionId::kRdzvEndpoint) ||
         settings.flag(OptionId::kStandalone) || around.variable("SLURM_JOB_ID").has_value();
}

void take_numbers(const AccelerateAnswer& answer, const Surroundings& around, Settings& settings) {
  const auto number = [&](std::string_view key) -> std::int64_t {
    const auto found = answer.numbers.find(key);
    return found == answer.numbers.end() ? 0 : parse_integer(found->second).value_or(0);
  };
  const auto fill = [&](OptionId id, std::string_view key, std::string text) {
    settings.set_default(id, std::move(text),
                         fmt::format("{}: {}", settings.text(kAccelerateOption), key));
  };
  const std::int64_t machines = std::max<std::int64_t>(number("num_machines"), 1);
  if (const std::int64_t processes = number("num_processes"); processes > 0) {
    fill(OptionId::kNprocPerNode, "num_processes",
         std::to_string(std::max<std::int64_t>(processes / machines, 1)));
  }
  if (machines == 1 || has_own_machines(settings, around)) return;
  fill(OptionId::kNnodes, "num_machines", std::to_string(machines));
  fill(OptionId::kNodeRank, "machine_rank", std::to_string(number("machine_rank")));
  if (const auto address = answer.numbers.find("main_process_ip");
      address != answer.numbers.end()) {
    fill(OptionId::kMasterAddr, "main_process_ip", address->second);
  }
  if (const std::int64_t port = number("main_process_port"); port > 0 && port <= kPortMax) {
    fill(OptionId::kMasterPort, "main_process_port", std::to_string(port));
  }
}

}  // namespace

Result<AcceleratePlan> plan_accelerate(const Surroundings& around, Settings* settings) {
  RR_ASSERT(settings != nullptr);
  if (settings->text(kAccelerateOption).empty()) return AcceleratePlan{};
  AccelerateAnswer answer = RR_TRY(ask_accelerate(*settings, around));
  take_numbers(answer, around, *settings);
  if (settings->given(OptionId::kOmp)) {
    std::erase_if(answer.plan.environment,
                  [](const std::string& one) { return one.starts_with("OMP_NUM_THREADS="); });
  }
  return std::move(answer.plan);
}

void set_variables(const std::vector<std::string>& variables,
                   std::vector<std::string>& environment) {
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(environment, [&](const std::string& one) { return one.starts_with(name); });
    environment.push_back(variable);
  }
}

}  // namespace robustrun::cli
