// Rule: Python, torch, GPUs and their driver must be the same on all nodes. The most frequent value
// is right; of equally frequent ones the first in the order of nodes.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "supervisor/core/preflight/verdict.h"

namespace robustrun::supervisor {
namespace {

// The most frequent value; none when no node has one.
template <class Get>
auto usual(const Judgement& judgement, Get get) -> decltype(get(judgement.checked.nodes[0])) {
  decltype(get(judgement.checked.nodes[0])) best{};
  std::map<typename decltype(best)::value_type, std::size_t> counts;
  for (const NodeCheck& node : judgement.checked.nodes) {
    if (const auto value = get(node)) ++counts[*value];
  }
  std::size_t most = 0;
  for (const NodeCheck& node : judgement.checked.nodes) {
    const auto value = get(node);
    if (value && counts[*value] > most) {
      most = counts[*value];
      best = value;
    }
  }
  return best;
}

bool knows_software(const NodeCheck& node) {
  return node.answered && node.facts.software.asked && !node.facts.software.python.empty();
}

std::optional<std::string> python_of(const NodeCheck& node) {
  if (!knows_software(node)) return std::nullopt;
  return node.facts.software.python;
}

std::optional<std::string> torch_of(const NodeCheck& node) {
  if (!knows_software(node)) return std::nullopt;
  return node.facts.software.torch;
}

bool knows_gpus(const NodeCheck& node) { return node.answered && node.facts.gpus.error.empty(); }

std::optional<std::uint32_t> gpus_of(const NodeCheck& node) {
  if (!knows_gpus(node)) return std::nullopt;
  return node.facts.gpus.count;
}

std::optional<std::string> driver_of(const NodeCheck& node) {
  if (!knows_gpus(node) || node.facts.gpus.driver.empty()) return std::nullopt;
  return node.facts.gpus.driver;
}

// "3.11" of "3.11.2"; "2.5.1" of "2.5.1+cu124".
std::string_view minor_of(std::string_view version) {
  const std::size_t first = version.find('.');
  return first == std::string_view::npos ? version
                                         : version.substr(0, version.find('.', first + 1));
}
std::string_view public_of(std::string_view version) {
  return version.substr(0, version.find('+'));
}

std::string torch_in_words(const std::string& version) {
  return version.empty() ? "no torch" : "torch " + said(version);
}

void judge_software(Judgement& judgement, std::size_t place, const std::string& python,
                    const std::string& torch) {
  const NodeCheck& node = judgement.checked.nodes[place];
  const base::Software& here = node.facts.software;
  if (here.missing) {
    judgement.add(place, Fitness::kUnfit, "the interpreter is missing: " + said(here.error));
  } else if (here.asked && !here.error.empty()) {
    judgement.add(place, judgement.checked.full ? Fitness::kUnfit : Fitness::kWarned,
                  "the interpreter does not report its versions: " + said(here.error));
  }
  if (!knows_software(node)) return;
  if (here.python != python) {
    const bool unfit = minor_of(here.python) != minor_of(python);
    judgement.add(
        place, unfit ? Fitness::kUnfit : Fitness::kWarned,
        fmt::format("it has Python {}, the others have {}", said(here.python), said(python)));
  }
  if (here.torch != torch) {
    const bool unfit = public_of(here.torch) != public_of(torch);
    judgement.add(place, unfit ? Fitness::kUnfit : Fitness::kWarned,
                  fmt::format("it has {}, the others have {}", torch_in_words(here.torch),
                              torch_in_words(torch)));
  }
}

void judge_gpus(Judgement& judgement, std::size_t place, std::uint32_t count,
                const std::string& driver) {
  const NodeCheck& node = judgement.checked.nodes[place];
  const base::Gpus& here = node.facts.gpus;
  if (!here.error.empty()) {
    // Where no node's library works, the job does not need it.
    judgement.add(place, count > 0 ? Fitness::kUnfit : Fitness::kWarned,
                  "its GPUs cannot be counted: " + said(here.error));
    return;
  }
  if (here.count != count) {
    const bool unfit = here.count < std::min(count, judgement.wanted[place].slots);
    judgement.add(place, unfit ? Fitness::kUnfit : Fitness::kWarned,
                  fmt::format("it has {} GPUs, the others have {}", here.count, count));
  }
  if (!here.driver.empty() && here.driver != driver) {
    judgement.add(
        place, Fitness::kWarned,
        fmt::format("it has GPU driver {}, the others have {}", said(here.driver), said(driver)));
  }
}

}  // namespace

void judge_equal(Judgement& judgement) {
  const std::string python = usual(judgement, python_of).value_or("");
  const std::string torch = usual(judgement, torch_of).value_or("");
  const std::uint32_t count = usual(judgement, gpus_of).value_or(0);
  const std::string driver = usual(judgement, driver_of).value_or("");
  for (std::size_t place = 0; place < judgement.checked.nodes.size(); ++place) {
    if (!judgement.checked.nodes[place].answered) continue;
    judge_software(judgement, place, python, torch);
    judge_gpus(judgement, place, count, driver);
  }
}

}  // namespace robustrun::supervisor
