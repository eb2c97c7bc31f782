#include "cli/text/diagnose_text.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using base::json_string;
using tracer::Finding;
using tracer::Verdict;

std::string_view prefix_of(Finding finding) {
  if (finding == Finding::kNothing) return "";
  if (finding == Finding::kLongPhase) return "busy: ";
  return tracer::is_slowness(finding) ? "slow: " : "hang: ";
}

std::string section(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = fmt::format("\n{}:\n", title);
  for (const std::string& line : lines) out += fmt::format("  {}\n", base::printable(line));
  return out;
}

std::string ranks(const std::vector<base::Rank>& list) {
  std::string out;
  for (const base::Rank rank : list) out += fmt::format("{}{}", out.empty() ? "" : ",", rank.value);
  return "[" + out + "]";
}

std::string edges(const std::vector<tracer::Edge>& list) {
  std::string out;
  for (const tracer::Edge& edge : list) {
    out += fmt::format("{}[{},{}]", out.empty() ? "" : ",", edge.from.value, edge.to.value);
  }
  return "[" + out + "]";
}

std::string operation_json(const Verdict& verdict) {
  if (verdict.ordinal == 0) return "null";
  const tracer::Signature& signature = verdict.signature;
  return fmt::format(
      R"({{"communicator":"{:016x}","group":{},"ordinal":{},"kind":{},"type":{},"count":{}}})",
      verdict.comm, json_string(verdict.group), verdict.ordinal,
      json_string(tracer::to_string(signature.kind)),
      json_string(tracer::to_string(signature.type)), signature.count);
}

}  // namespace

std::string verdict_text(const Verdict& verdict, const std::vector<std::string>& notes) {
  std::string out =
      fmt::format("{}{}\n", prefix_of(verdict.finding), base::printable(verdict.sentence));
  if (const std::string_view rule = tracer::rule_of(verdict.finding); !rule.empty()) {
    out += fmt::format("\nrule {} ({}), confidence: {}\n", rule, tracer::to_string(verdict.finding),
                       tracer::to_string(verdict.confidence));
  }
  out += section("evidence", verdict.evidence);
  if (verdict.runner_up.finding != Finding::kNothing) {
    out += section("otherwise it would be", {verdict.runner_up.sentence});
  }
  return out + section("also", notes);
}

std::string verdict_json(const Verdict& verdict, const std::vector<std::string>& notes) {
  const bool has_other = verdict.runner_up.finding != Finding::kNothing;
  const std::string other =
      has_other ? fmt::format(R"({{"finding":{},"sentence":{}}})",
                              json_string(tracer::to_string(verdict.runner_up.finding)),
                              json_string(verdict.runner_up.sentence))
                : "null";
  return fmt::format(
      R"({{"finding":{},"rule":{},"confidence":{},"sentence":{},"culprits":{},"nodes":{},)"
      R"("edges":{},"victims":{},"operation":{},"lasting_s":{},"is_moving":{},"evidence":{},)"
      R"("runner_up":{},"notes":{}}})",
      json_string(tracer::to_string(verdict.finding)),
      json_string(tracer::rule_of(verdict.finding)),
      json_string(tracer::to_string(verdict.confidence)), json_string(verdict.sentence),
      ranks(verdict.culprits), base::json_strings(verdict.nodes), edges(verdict.edges),
      ranks(verdict.victims), operation_json(verdict),
      std::chrono::duration<double>(verdict.lasting).count(), verdict.is_moving,
      base::json_strings(verdict.evidence), other, base::json_strings(notes));
}

}  // namespace robustrun::cli
