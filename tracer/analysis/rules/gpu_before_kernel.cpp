// R3: a rank has launched an operation that its GPU has not reached while peers are inside it; or
// the rank's thread waits for its GPU and therefore does not reach the next operation.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

void add_gpus(const Case& facts, Accusation& made) {
  std::vector<std::string> lines;
  for (const std::uint32_t at : made.culprits) {
    for (const GpuState& gpu : facts.view.rank(at).evidence.gpus) {
      if (lines.size() + made.verdict.evidence.size() >= kEvidenceLines) break;
      std::string line = fmt::format("rank {}: {}, {} % busy", facts.view.rank(at).rank.value,
                                     gpu.name.substr(0, kNameBytes), gpu.utilisation_percent);
      if (gpu.power_limit_w > 0) {
        line += fmt::format(" at {} W of {} W", gpu.power_w, gpu.power_limit_w);
      }
      for (const std::string& error : gpu.errors) line += ", " + error.substr(0, kNameBytes);
      lines.push_back(std::move(line));
    }
  }
  made.verdict.evidence.insert(made.verdict.evidence.begin(), lines.begin(), lines.end());
}

}  // namespace

std::optional<Verdict> rule_gpu_before_kernel(const Case& facts) {
  std::vector<Blame> queued;
  for (const Blame& blame : facts.graph.blames()) {
    if (blame.guilt == Guilt::kQueued) queued.push_back(blame);
  }
  const bool is_launched = !queued.empty();
  if (!is_launched) queued = sort_absent(facts).own_gpu;
  if (queued.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kGpuBeforeKernel, queued);
  if (is_launched) {
    made.verdict.sentence =
        fmt::format("the {} of {} {} not reached {}{}", made.choose("GPU", "GPUs"), made.named,
                    made.choose("has", "have"), made.operation, for_text(made.age));
  } else {
    made.verdict.confidence = Confidence::kInferred;
    made.verdict.sentence =
        fmt::format("{} {} not entered {}{}", made.named, made.choose("has", "have"),
                    made.operation, for_text(made.age)) +
        whereabouts_text(facts, made);
  }
  made.verdict.sentence += waiting_text(facts, made);
  add_gpus(facts, made);
  add_left_behind(facts, made.verdict);
  return made.verdict;
}

}  // namespace robustrun::tracer
