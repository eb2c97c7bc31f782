#include "cli/sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "cli/tables/fault_file.h"
#include "cli/tables/policy_file.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::Result;
using simulator::Figure;
using simulator::PublishedPolicy;
using simulator::StudyRequest;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Text = std::optional<std::string>;

constexpr std::uint32_t kSeedsToChooseSpares = 3;  // per tried number of spares
constexpr std::uint32_t kSparesBeyond = 4;
constexpr std::int64_t kSimNodes = 128;  // default

std::unexpected<base::Error> bad(const char* option, const std::string& text,
                                 const std::string& wanted) {
  return base::fail(Errc::kInvalidArgument,
                    fmt::format("argument --{}: invalid value: '{}' (expected {})", option,
                                base::printable(text), wanted));
}

Result<std::int64_t> whole(const char* option, const Text& text, std::int64_t otherwise,
                           std::int64_t least, std::int64_t most) {
  if (!text) return otherwise;
  const auto value = parse_integer(*text);
  if (value && *value >= least && *value <= most) return *value;
  return bad(option, *text, fmt::format("a number from {} to {}", least, most));
}

// `zero`: whether 0 is allowed.
Result<Figure<base::Nanos>> time_of(const char* option, const Text& text, base::Nanos otherwise,
                                    const char* why, bool zero) {
  if (!text) return Figure<base::Nanos>{otherwise, simulator::Origin::kAssumed, why};
  const auto value = parse_duration(*text);
  if (value && (zero || *value > base::Nanos{}) && *value <= kSimTimeMax) {
    return Figure<base::Nanos>{*value, simulator::Origin::kGiven, fmt::format("--{}", option)};
  }
  return bad(
      option, *text,
      zero ? "a time such as 90s, at most 30 days" : "a time such as 90s, not 0, at most 30 days");
}

Result<std::vector<const PublishedPolicy*>> compared_of(const Text& text) {
  std::vector<const PublishedPolicy*> chosen;
  const std::string words = text.value_or("torchrun,byterobust");
  if (words.empty() || words == "none") return chosen;
  std::vector<std::string> known;
  for (const PublishedPolicy& one : simulator::published_policies()) known.push_back(one.name);
  for (const std::string_view word : base::split(words, ',')) {
    const PublishedPolicy* const one = simulator::published_policy(base::trim(word));
    if (one == nullptr) {
      return base::fail(
          Errc::kInvalidArgument,
          fmt::format("argument --compare: invalid choice: '{}'{} (choose from {}, none)",
                      base::printable(word), did_you_mean(word, known), base::join(known, ", ")));
    }
    if (std::ranges::find(chosen, one) == chosen.end()) chosen.push_back(one);
  }
  return chosen;
}

Result<simulator::FailureModel> failures_of(const SimLine& line, const Surroundings& around,
                                            const std::optional<simulator::Site>& site) {
  if (line.failures && line.preset) {
    return base::fail(Errc::kInvalidArgument,
                      "argument --failures: not allowed with argument --preset");
  }
  if (site && !line.failures && !line.preset) {
    simulator::FailureModel model = *simulator::preset("llama3");
    use_rates(*site, model);
    return model;
  }
  if (line.failures) {
    const std::string text = RR_TRY(around.machine->read_file(*line.failures));
    return parse_failures(text, *line.failures);
  }
  const std::string name = line.preset.value_or("llama3");
  if (auto model = simulator::preset(name)) return *std::move(model);
  std::vector<std::string> known;
  for (const auto& one : simulator::presets()) known.push_back(one.name);
  return base::fail(
      Errc::kInvalidArgument,
      fmt::format("argument --preset: invalid choice: '{}'{} (choose from {})",
                  base::printable(name), did_you_mean(name, known), base::join(known, ", ")));
}

Result<simulator::JobTerms> job_of(const SimLine& line, std::int64_t usual_nodes) {
  simulator::JobTerms job;
  job.nodes =
      static_cast<std::uint32_t>(RR_TRY(whole("nodes", line.nodes, usual_nodes, 1, kSimNodesMax)));
  job.gpus_per_node =
      static_cast<std::uint32_t>(RR_TRY(whole("gpus-per-node", line.gpus_per_node, 8, 1, 1024)));
  job.step = RR_TRY(time_of("step-time", line.step_time, seconds(6), "typical step", false));
  job.start = RR_TRY(time_of("start", line.start, minutes(1), "imports and communicators", true));
  job.load =
      RR_TRY(time_of("checkpoint-load", line.checkpoint_load, seconds(30), "typical load", true));
  if (line.checkpoint_every != "step") {
    job.checkpoint_every = RR_TRY(
        time_of("checkpoint-every", line.checkpoint_every, minutes(10), "typical interval", false));
  }
  job.checkpoint_stall =
      RR_TRY(time_of("checkpoint-save", line.checkpoint_save, seconds(5), "typical stall", true));
  job.residual = RR_TRY(time_of("residual", line.residual, minutes(15),
                                "15 to 20 min per incident reconcile ByteRobust's stage times with "
                                "its ETTR; no model explains them",
                                true));
  const double days = line.days ? parse_number(*line.days).value_or(-1) : 54;
  if (!(days > 0 && days <= kSimDaysMax)) {
    return bad("days", *line.days, fmt::format("a number above 0, at most {}", kSimDaysMax));
  }
  job.duration = simulator::from_seconds(days * 24 * 3600);
  return job;
}

void use_journals(const SimLine& line, const std::optional<simulator::Site>& site,
                  simulator::JobTerms& job, simulator::OwnTimes& times) {
  if (site) use_times(*site, job, times);
  if (line.checkpoint_every == "step") {
    job.checkpoint_every = {job.step.value, simulator::Origin::kGiven, "--checkpoint-every"};
  }
}

// Tries numbers of spares around the published rule's, which may be too small. A number that the
// user names is tried alone: each takes as long as the whole study.
base::Status plan_spares(const SimLine& line, StudyRequest& request) {
  const std::uint32_t rule = simulator::standbys_for(request.failures, request.job.nodes);
  const std::uint32_t most = 2 * rule + kSparesBeyond;
  request.most_spares = std::min(most, static_cast<std::uint32_t>(kSimSparesMax));
  request.chooses_spares = line.spares.value_or("auto") == "auto";
  request.seeds_for_spares =
      request.chooses_spares ? std::min(request.seeds, kSeedsToChooseSpares) : 0;
  if (request.chooses_spares) return {};
  const auto spares = parse_integer(*line.spares);
  if (!spares || *spares < 0 || *spares > kSimSparesMax) {
    return bad("spares", *line.spares, fmt::format("auto, or a number up to {}", kSimSparesMax));
  }
  request.job.spares = static_cast<std::uint32_t>(*spares);
  return {};
}

}  // namespace

Result<StudyRequest> plan_sim(const SimLine& line, const Surroundings& around,
                              const std::optional<simulator::Site>& site) {
  StudyRequest request;
  request.site = site;
  request.failures = RR_TRY(failures_of(line, around, site));
  const std::uint32_t seen_nodes = site ? site->nodes : 0;
  const std::int64_t usual_nodes =
      seen_nodes == 0 ? kSimNodes : std::min<std::int64_t>(seen_nodes, kSimNodesMax);
  request.job = RR_TRY(job_of(line, usual_nodes));
  use_journals(line, site, request.job, request.own.times);
  // An interval that a run or the user chose is kept.
  request.chooses_intervals =
      !line.checkpoint_every && request.job.checkpoint_every.origin == simulator::Origin::kAssumed;
  if (request.chooses_intervals) {
    request.job.checkpoint_every.source = "only if a checkpoint costs nothing; else the best";
  }
  request.seeds =
      static_cast<std::uint32_t>(RR_TRY(whole("seeds", line.seeds, 20, 1, kSimSeedsMax)));
  request.first_seed = static_cast<std::uint64_t>(
      RR_TRY(whole("seed", line.seed, 1, 0, std::numeric_limits<std::int32_t>::max())));
  request.compared = RR_TRY(compared_of(line.compare));
  request.own.faults = RR_TRY(parse_faults(built_in_faults(), "faults.toml"));
  request.own.policy = RR_TRY(parse_policy(built_in_policy(), "policy.toml"));
  if (line.policy) {
    const std::string text = RR_TRY(around.machine->read_file(*line.policy));
    request.own.policy = RR_TRY(parse_policy(text, *line.policy, request.own.policy));
  }
  RR_TRY(plan_spares(line, request));
  const double machines = request.job.nodes + std::max(request.job.spares, request.most_spares);
  const double faults = request.failures.per_node_day.value * machines *
                        simulator::in_seconds(request.job.duration) / 86400;
  if (faults > kSimFaultsMax) {
    return base::fail(Errc::kInvalidArgument,
                      fmt::format("cannot simulate {:.2g} failures a run: at most {:.0g}; shorten "
                                  "--days",
                                  faults, kSimFaultsMax));
  }
  return request;
}

Result<simulator::ReplayRequest> plan_sim_replay(const SimLine& line, const simulator::Site& site) {
  simulator::ReplayRequest request;
  request.job = RR_TRY(job_of(line, kSimNodes));
  request.site = site;
  request.seed = static_cast<std::uint64_t>(
      RR_TRY(whole("seed", line.seed, 1, 0, std::numeric_limits<std::int32_t>::max())));
  use_journals(line, site, request.job, request.times);
  return request;
}

}  // namespace robustrun::cli
