#include "supervisor/core/status/live_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/report/pace.h"

namespace robustrun::supervisor {
namespace {

using std::chrono::seconds;

// A step that is late for so long is mentioned.
constexpr seconds kLate{10};

// Whom others wait for, or else the stage of the node that has been in its stage for the longest
// time.
std::string stage_words(const RunStatus& status) {
  if (status.group_wait) {
    return fmt::format("waiting for {} {}", missing_in_words(*status.group_wait),
                       base::duration_words(status.group_wait->lasting));
  }
  const NodeStatus* slowest = nullptr;
  for (const NodeStatus& node : status.nodes) {
    if (node.stage.empty()) continue;
    if (slowest == nullptr || node.stage_took > slowest->stage_took) slowest = &node;
  }
  if (slowest == nullptr) return "";
  std::string words =
      fmt::format("{} {}", slowest->stage, base::duration_words(slowest->stage_took));
  if (status.nodes.size() > 1) words += fmt::format(" ({})", base::printable(slowest->name));
  return words;
}

std::optional<std::string> loss_words(const RunStatus& status) {
  for (const wire::Metric& metric : status.metrics) {
    if (metric.name.find("loss") == std::string::npos) continue;
    return fmt::format("{} {:.4g}", base::printable(metric.name), metric.value);
  }
  return std::nullopt;
}

}  // namespace

std::string live_line(const RunStatus& status) {
  if (status.program.empty()) return {};  // the run has not begun
  const std::size_t slash = status.program.rfind('/');
  std::vector<std::string> parts{base::printable(
      slash == std::string::npos ? status.program : status.program.substr(slash + 1))};
  const bool has_steps = status.steps > 0 || status.stepped;  // `step` may be an earlier attempt's
  const bool is_running = status.state == JobState::kRunning;
  if (!is_running || !has_steps) {
    const std::string stage = stage_words(status);
    parts.push_back(stage.empty() || !is_running ? std::string(to_string(status.state)) : stage);
  }
  if (has_steps && is_running) {
    const std::uint64_t done =
        status.step ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, *status.step))
                    : status.steps;
    const auto goal = step_goal(status.stop_after_steps, status.metrics);
    parts.push_back(goal ? fmt::format("step {}/{}", done, *goal) : fmt::format("step {}", done));
    if (status.stepped && *status.stepped > kLate) {
      parts.push_back(fmt::format("last step {} ago", base::clock_words(*status.stepped)));
    } else if (status.steps_per_second) {
      parts.push_back(fmt::format("{:.3g} steps/s", *status.steps_per_second));
    }
    if (const auto loss = loss_words(status)) parts.push_back(*loss);
    if (status.restarts > 0) parts.push_back(base::counted(status.restarts, "restart"));
    if (status.left) parts.push_back(eta_words(*status.left));
  } else {
    if (status.restarts > 0) parts.push_back(base::counted(status.restarts, "restart"));
    parts.push_back("up " + base::clock_words(status.uptime));
  }
  return base::join(parts, "  ");
}

}  // namespace robustrun::supervisor
