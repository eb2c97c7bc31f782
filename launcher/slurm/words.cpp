#include "launcher/slurm/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "launcher/hosts/host_list.h"
#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::string_view kMark = "error: ";
constexpr std::string_view kLaunchFailed = "Task launch for ";
constexpr std::string_view kOnNode = " failed on node ";
constexpr std::string_view kExitCode = "Exited with exit code ";
constexpr std::string_view kNodeFailure = "Node failure on ";

// The "error: X" of "srun: error: X" or "slurmstepd: error: n1: X"; empty: not such a line.
std::string_view error_of(std::string_view line) {
  const auto at = line.find(kMark);
  const auto colon = line.find(": ");
  if (at == std::string_view::npos || at != colon + 2) return {};
  return base::trim(line.substr(at + kMark.size()));
}

std::vector<std::string> names(std::string_view list) {
  std::vector<std::string> found;
  auto hosts = expand_host_list(list);
  if (!hosts) return found;
  for (Host& host : *hosts) found.push_back(std::move(host.name));
  return found;
}

// Whether `behind` is like "n[1-2]: tasks 0-1: Killed".
bool tells_of_tasks(std::string_view behind) {
  for (const std::string_view word : {"task ", "tasks "}) {
    if (behind.starts_with(word) && behind.size() > word.size()) {
      return std::isdigit(static_cast<unsigned char>(behind[word.size()])) != 0;
    }
  }
  return false;
}

// The numbers of "tasks 0-1,3: Killed"; empty: they cannot be read.
std::vector<std::uint32_t> task_numbers(std::string_view behind) {
  const std::string_view listed = behind.substr(0, behind.find(':'));
  const auto space = listed.find(' ');
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names(fmt::format("t[{}]", listed.substr(space + 1)))) {
    const auto number = base::parse_int<std::uint32_t>(std::string_view(name).substr(1));
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string last_log_line(std::string_view log) {
  std::string_view last;
  for (const std::string_view line : base::split(log, '\n')) {
    if (!base::trim(line).empty()) last = base::trim(line);
  }
  return base::printable(last);
}

std::optional<SrunNews> read_srun_line(std::string_view line) {
  if (!line.starts_with("srun: ")) return std::nullopt;
  const std::string_view error = error_of(line);
  SrunNews news;
  news.what = base::printable(error);
  if (error.starts_with(kLaunchFailed)) {
    const auto on = error.find(kOnNode);
    if (on == std::string_view::npos) return std::nullopt;
    const std::string_view rest = error.substr(on + kOnNode.size());
    news.nodes = names(rest.substr(0, rest.find(": ")));
    news.started = news.node_answers = false;
  } else if (error.starts_with(kNodeFailure)) {
    news.nodes = names(error.substr(kNodeFailure.size()));
    news.node_answers = false;
  } else if (const auto colon = error.find(": "); colon != std::string_view::npos) {
    if (!tells_of_tasks(error.substr(colon + 2))) return std::nullopt;
    news.nodes = names(error.substr(0, colon));
    news.tasks = task_numbers(error.substr(colon + 2));
    if (news.tasks.size() != news.nodes.size()) news.tasks.clear();
    if (const auto code = error.rfind(kExitCode); code != std::string_view::npos) {
      news.exit_code = base::parse_int<int>(error.substr(code + kExitCode.size())).value_or(0);
    }
  }
  if (news.nodes.empty()) return std::nullopt;
  return news;
}

bool is_refusal(std::string_view line) {
  const std::string_view error = error_of(line);
  return error.starts_with("Unable to create step") || error.starts_with("Only allocated ") ||
         error.starts_with("Unable to confirm allocation");
}

std::string srun_errors(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string_view error = error_of(*line);
    if (error.empty() || read_srun_line(*line)) continue;
    found.push_back(base::printable(error));
    if (found.size() == kSrunErrorsShown) break;
  }
  std::ranges::reverse(found);
  return base::join(found, "; ");
}

}  // namespace robustrun::launcher
