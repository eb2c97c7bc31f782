#include "cli/tables/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/command_words.h"
#include "cli/options/limits.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using supervisor::FirstAction;
using supervisor::Policy;
using supervisor::PreflightDepth;
using supervisor::Rung;
using supervisor::Step;
using TomlKind = TomlValue::Type;

constexpr FirstAction kLadderActions[] = {
    FirstAction::kEvict, FirstAction::kTolerate, FirstAction::kRestart, FirstAction::kRollBack,
    FirstAction::kCheck, FirstAction::kGiveUp,   FirstAction::kReplay};
constexpr Step kPolicySteps[] = {Step::kRestart,  Step::kEvict,  Step::kCheck,
                                 Step::kRollBack, Step::kGiveUp, Step::kReplay};
constexpr std::string_view kTables[] = {"ladder", "tolerate", "blame",  "suspect",
                                        "forget", "check",    "replay", "metrics",
                                        "slow",   "resume",   "hangs",  "drain"};
constexpr std::pair<const char*, PreflightDepth> kDepths[] = {{"fast", PreflightDepth::kFast},
                                                              {"full", PreflightDepth::kFull},
                                                              {"gpu", PreflightDepth::kGpu}};

constexpr std::pair<const char*, supervisor::DrainAnswer> kDrainAnswers[] = {
    {"restart", supervisor::DrainAnswer::kAtRestart},
    {"now", supervisor::DrainAnswer::kNow},
    {"say", supervisor::DrainAnswer::kSay}};

// "check x1", "restart"
std::optional<Rung> parse_rung(std::string_view text) {
  for (const Step step : kPolicySteps) {
    const std::string_view word = to_string(step);
    if (!text.starts_with(word)) continue;
    const std::string_view rest = text.substr(word.size());
    if (rest.empty()) return Rung{step, 0};
    if (!rest.starts_with(" x")) return std::nullopt;
    Rung rung{step, 0};
    const char* const end = rest.data() + rest.size();
    const auto read = std::from_chars(rest.data() + 2, end, rung.times);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    if (rung.times == 0 || rung.times > kStepTimesMax) return std::nullopt;
    return rung;
  }
  return std::nullopt;
}

class PolicyReader : TomlReader {
 public:
  PolicyReader(const std::string& path, Policy policy)
      : TomlReader(path), policy_(std::move(policy)) {}

  Result<Policy> read(const TomlValue& file) {
    for (const TomlEntry& table : file.entries) {
      if (table.value.type != TomlKind::kTable) {
        return error(table.at, fmt::format("{} must be a table: [{}]", base::printable(table.key),
                                           base::printable(table.key)));
      }
      for (const TomlEntry& entry : table.value.entries) RR_TRY(take(table.key, entry));
      if (!is_known(table.key)) {
        return unknown(table, {std::begin(kTables), std::end(kTables)});
      }
    }
    return std::move(policy_);
  }

 private:
  static bool is_known(std::string_view table) {
    return std::ranges::find(kTables, table) != std::end(kTables);
  }

  Status take(std::string_view table, const TomlEntry& entry) {
    if (table == "ladder") return ladder(entry);
    if (table == "tolerate") {
      return limit(entry, policy_.tolerated, policy_.tolerated_within);
    }
    if (table == "blame") return limit(entry, policy_.blamed, policy_.blamed_within);
    if (table == "suspect") return only(entry, "within", policy_.suspected_for);
    if (table == "forget") return only(entry, "after", policy_.forgotten_after);
    if (table == "check") return depth(entry);
    if (table == "slow") return slow(entry);
    if (table == "replay") return replay(entry);
    if (table == "metrics") return metrics(entry);
    if (table == "resume") return resume(entry);
    if (table == "hangs") return hangs(entry);
    if (table == "drain") return drain(entry);
    return {};
  }

  Status slow(const TomlEntry& entry) {
    supervisor::SlowPolicy& slow = policy_.slow;
    if (entry.key == "rounds") return number(entry, 0, kStepTimesMax, slow.rounds);
    const std::pair<const char*, base::Nanos*> times[] = {
        {"every", &slow.every},
        {"drain_within", &slow.drain_within},
        {"assumed_remaining", &slow.assumed_remaining},
        {"assumed_price", &slow.assumed_price}};
    std::vector<std::string> keys = {"rounds"};
    for (const auto& [key, value] : times) {
      if (entry.key == key) return time(entry, *value);
      keys.emplace_back(key);
    }
    return unknown(entry, keys);
  }

  Status ladder(const TomlEntry& entry) {
    std::vector<std::string> words;
    for (const FirstAction action : kLadderActions) {
      if (entry.key == to_string(action)) return rungs(entry, action);
      words.emplace_back(to_string(action));
    }
    return unknown(entry, words);
  }

  Status rungs(const TomlEntry& entry, FirstAction action) {
    supervisor::Ladder made{action, {}};
    for (const TomlValue& value : entry.value.items) {
      const auto rung = value.type == TomlKind::kString ? parse_rung(value.text) : std::nullopt;
      if (!rung || made.rungs.size() == kRungsMax) {
        return error(
            value.at,
            fmt::format("a ladder has at most {} steps: restart, evict, check, replay, roll back "
                        "or give up, each followed by x1 to x{} to limit its repetitions: "
                        "\"check x1\"",
                        kRungsMax, kStepTimesMax));
      }
      made.rungs.push_back(*rung);
    }
    if (made.rungs.empty()) {
      return error(entry.at, fmt::format("{} must be an array of steps: [\"check x1\", "
                                         "\"restart\"]",
                                         base::printable(entry.key)));
    }
    const auto old = std::ranges::find(policy_.ladders, action, &supervisor::Ladder::action);
    if (old == policy_.ladders.end()) {
      policy_.ladders.push_back(std::move(made));
    } else {
      *old = std::move(made);
    }
    return {};
  }

  Status limit(const TomlEntry& entry, std::uint32_t& times, base::Nanos& within) const {
    if (entry.key == "within") return time(entry, within);
    if (entry.key != "times") return unknown(entry, {"times", "within"});
    return number(entry, 0, kStepTimesMax, times);
  }

  Status replay(const TomlEntry& entry) {
    if (entry.key == "limit") return time(entry, policy_.replay_limit);
    if (entry.key != "unit") return unknown(entry, {"limit", "unit"});
    return number(entry, 1, kReplayUnitMax, policy_.replay_unit);
  }

  Status resume(const TomlEntry& entry) {
    if (entry.key == "poison_after") return number(entry, 0, kStepTimesMax, policy_.poison_after);
    if (entry.key != "poison_steps") return unknown(entry, {"poison_after", "poison_steps"});
    return number(entry, 1, kPoisonStepsMax, policy_.poison_steps);
  }

  Status hangs(const TomlEntry& entry) {
    if (entry.key != "still") return unknown(entry, {"still"});
    const auto text = scalar_text(entry.value);
    const auto parsed = text ? parse_duration(*text) : std::nullopt;
    if (!parsed) return wrong_type(entry, "a time such as \"10s\", or 0");
    policy_.hang_still = *parsed;
    return {};
  }

  Status drain(const TomlEntry& entry) {
    if (entry.key != "act") return unknown(entry, {"act"});
    for (const auto& [word, value] : kDrainAnswers) {
      if (entry.value.type != TomlKind::kString || entry.value.text != word) continue;
      policy_.drain = value;
      return {};
    }
    return wrong_type(entry, "one of \"restart\", \"now\", \"say\"");
  }

  Status metrics(const TomlEntry& entry) {
    if (entry.key == "times") return number(entry, 0, kStepTimesMax, policy_.alarms_acted_on);
    bool* const acts = entry.key == "nan"    ? &policy_.acts_on_nan
                       : entry.key == "jump" ? &policy_.acts_on_jump
                                             : nullptr;
    if (acts == nullptr) return unknown(entry, {"nan", "jump", "times"});
    const bool is_text = entry.value.type == TomlKind::kString;
    if (!is_text || (entry.value.text != "say" && entry.value.text != "act")) {
      return wrong_type(entry, "\"say\" or \"act\"");
    }
    *acts = entry.value.text == "act";
    return {};
  }

  Status number(const TomlEntry& entry, std::uint32_t least, std::uint32_t most,
                std::uint32_t& out) const {
    const TomlValue& value = entry.value;
    if (value.type != TomlKind::kInteger || value.integer < least || value.integer > most) {
      return wrong_type(entry, fmt::format("a number from {} to {}", least, most));
    }
    out = static_cast<std::uint32_t>(value.integer);
    return {};
  }

  Status only(const TomlEntry& entry, const char* key, base::Nanos& out) const {
    return entry.key == key ? time(entry, out) : unknown(entry, {key});
  }

  Status time(const TomlEntry& entry, base::Nanos& out) const {
    const auto text = scalar_text(entry.value);
    const auto parsed = text ? parse_duration(*text) : std::nullopt;
    if (!parsed || *parsed <= base::Nanos{}) return wrong_type(entry, "a time such as \"5m\"");
    out = *parsed;
    return {};
  }

  Status depth(const TomlEntry& entry) {
    if (entry.key != "depth") return unknown(entry, {"depth"});
    for (const auto& [word, value] : kDepths) {
      if (entry.value.type != TomlKind::kString || entry.value.text != word) continue;
      policy_.check = value;
      return {};
    }
    return wrong_type(entry, "one of \"fast\", \"full\", \"gpu\"");
  }

  Policy policy_;
};

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& path, Policy policy) {
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return PolicyReader(path, std::move(policy)).read(file);
}

Result<std::vector<std::string>> plan_replay_command(const Settings& settings) {
  if (!settings.has(OptionId::kReplayCommand)) return std::vector<std::string>{};
  auto words = command_words(settings.text(OptionId::kReplayCommand));
  if (!words) return cannot_use(settings, OptionId::kReplayCommand, words.error().what);
  return words;
}

Result<Policy> plan_policy(const Settings& settings, const Surroundings& around) {
  if (settings.compat()) return Policy{};
  const std::filesystem::path bin = std::filesystem::path(around.executable).parent_path();
  const std::string shipped = (bin.parent_path() / "share/robustrun/policy.toml").string();
  Policy policy;
  if (around.machine->kind(shipped) == PathKind::kMissing) {
    policy = RR_TRY(parse_policy(built_in_policy(), "policy.toml"));
  } else {
    const std::string text = RR_TRY(around.machine->read_file(shipped));
    policy = RR_TRY(parse_policy(text, shipped));
  }
  if (!settings.has(OptionId::kPolicy)) return policy;
  const std::string path = settings.text(OptionId::kPolicy);
  const std::string text = RR_TRY(around.machine->read_file(path));
  return parse_policy(text, path, std::move(policy));
}

}  // namespace robustrun::cli
