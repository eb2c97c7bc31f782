#include "cli/tables/policy_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "cli/text/policy_text.h"
#include "tests/paths.h"
#include "tests/sim/shipped_ladders.h"

namespace robustrun::cli::policy_file_test {
namespace {

using supervisor::FirstAction;
using supervisor::Policy;
using supervisor::Step;

Policy read(std::string_view text) { return parse_policy(text, "site.toml").value(); }
std::string error_of(std::string_view text) {
  const auto policy = parse_policy(text, "site.toml");
  return policy ? "no error" : policy.error().what;
}
Policy shipped() { return parse_policy(built_in_policy(), "policy.toml").value(); }

const supervisor::Ladder& ladder_of(const Policy& policy, FirstAction action) {
  const auto found = std::ranges::find(policy.ladders, action, &supervisor::Ladder::action);
  REQUIRE(found != policy.ladders.end());
  return *found;
}

TEST_CASE("the file in configs is the one within the program, and has a ladder for every action") {
  std::ifstream file(in_source("configs/policy.toml"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  CHECK(text == built_in_policy());
  const Policy policy = shipped();
  CHECK(policy.is_on());
  CHECK(policy.ladders.size() == 7);
  // ByteRobust (arXiv 2509.16293), section 4.1: machine faults at once, networks after two alerts
  // within 5 minutes, and unclear faults are checked before a restart.
  CHECK(ladder_of(policy, FirstAction::kEvict).rungs.front().step == Step::kEvict);
  CHECK(policy.tolerated == 2);
  CHECK(policy.tolerated_within == std::chrono::minutes(5));
  CHECK(ladder_of(policy, FirstAction::kCheck).rungs.front().step == Step::kCheck);
  CHECK(ladder_of(policy, FirstAction::kRollBack).rungs.front().step == Step::kRollBack);
  // Section 5: five rounds, ten seconds apart.
  CHECK(policy.slow.rounds == 5);
  CHECK(policy.slow.every == std::chrono::seconds(10));
  CHECK(ladder_of(policy, FirstAction::kReplay).rungs.front().step == Step::kReplay);
  // A wrong number may be the script's business: nothing is stopped by default.
  CHECK_FALSE(policy.acts_on_nan);
  CHECK_FALSE(policy.acts_on_jump);
  CHECK(policy.hang_still == std::chrono::seconds(10));
}

TEST_CASE("simulated runs use the shipped ladders") {
  const Policy policy = shipped();
  const std::vector<supervisor::Ladder> simulated = sim::shipped_ladders();
  CHECK(simulated.size() == policy.ladders.size());
  for (const supervisor::Ladder& ladder : simulated) {
    const auto parts = [](const supervisor::Rung& rung) {
      return std::pair(rung.step, rung.times);
    };
    CAPTURE(std::string(supervisor::to_string(ladder.action)));
    CHECK(
        std::ranges::equal(ladder.rungs, ladder_of(policy, ladder.action).rungs, {}, parts, parts));
  }
}

TEST_CASE("a file replaces the rows that it names, and no others") {
  const auto policy = parse_policy(
      "[ladder]\ncheck = [\"check x2\", \"give up\"]\n[tolerate]\ntimes = 0\nwithin = \"90s\"\n"
      "[blame]\ntimes = 5\n[suspect]\nwithin = \"1m\"\n[forget]\nafter = \"1h\"\n"
      "[check]\ndepth = \"gpu\"\n[replay]\nlimit = \"90s\"\nunit = 4\n"
      "[metrics]\nnan = \"act\"\njump = \"act\"\ntimes = 2\n"
      "[resume]\npoison_after = 0\npoison_steps = 7\n"
      "[hangs]\nstill = \"30s\"\n"
      "[slow]\nrounds = 3\nevery = \"2s\"\ndrain_within = \"4s\"\nassumed_price = \"5s\"\n",
      "site.toml", shipped());
  REQUIRE(policy);
  const auto& check = ladder_of(*policy, FirstAction::kCheck);
  REQUIRE(check.rungs.size() == 2);
  CHECK(check.rungs[0].step == Step::kCheck);
  CHECK(check.rungs[0].times == 2);
  CHECK(check.rungs[1].step == Step::kGiveUp);
  CHECK(check.rungs[1].times == 0);
  CHECK(policy->ladders.size() == 7);
  CHECK(policy->replay_limit == std::chrono::seconds(90));
  CHECK(policy->replay_unit == 4);
  CHECK(policy->acts_on_nan);
  CHECK(policy->acts_on_jump);
  CHECK(policy->alarms_acted_on == 2);
  CHECK(policy->poison_after == 0);
  CHECK(policy->poison_steps == 7);
  CHECK(policy_text(*policy).find("A checkpoint from which") == std::string::npos);
  CHECK(policy->tolerated == 0);
  CHECK(policy->tolerated_within == std::chrono::seconds(90));
  CHECK(policy->blamed == 5);
  CHECK(policy->blamed_within == shipped().blamed_within);
  CHECK(policy->suspected_for == std::chrono::minutes(1));
  CHECK(policy->forgotten_after == std::chrono::hours(1));
  CHECK(policy->check == supervisor::PreflightDepth::kGpu);
  CHECK(policy->slow.rounds == 3);
  CHECK(policy->slow.every == std::chrono::seconds(2));
  CHECK(policy->slow.drain_within == std::chrono::seconds(4));
  CHECK(policy->slow.assumed_price == std::chrono::seconds(5));
  CHECK(policy->slow.assumed_remaining == std::chrono::hours(24));
  CHECK(policy->hang_still == std::chrono::seconds(30));
  CHECK(read("[hangs]\nstill = 0\n").hang_still == base::Nanos{});
  CHECK(read("").ladders.empty());
}

TEST_CASE("errors name the place, the mistake and the accepted values") {
  CHECK(error_of("[laddr]\n")
            .starts_with("site.toml:1:2: unknown key 'laddr' (did you mean ladder?)"));
  CHECK(error_of("ladder = 1\n") == "site.toml:1:1: ladder must be a table: [ladder]");
  CHECK(error_of("[ladder]\nevct = []\n").find("did you mean evict?") != std::string::npos);
  CHECK(error_of("[ladder]\nevict = []\n").find("must be an array of steps") != std::string::npos);
  for (const char* const step : {"check x0", "check x1001", "check x", "check 1", "reboot", ""}) {
    CAPTURE(step);
    const std::string text = std::string("[ladder]\nevict = [\"") + step + "\"]\n";
    CHECK(error_of(text).starts_with("site.toml:2:10: a ladder has at most 16 steps"));
  }
  CHECK(error_of("[ladder]\nevict = [1]\n").starts_with("site.toml:2:10: a ladder"));
  CHECK(error_of("[tolerate]\ntimes = -1\n") ==
        "site.toml:2:1: times must be a number from 0 to 1000");
  CHECK(error_of("[blame]\nwithin = \"soon\"\n") ==
        "site.toml:2:1: within must be a time such as \"5m\"");
  CHECK(error_of("[forget]\nafter = \"0\"\n").starts_with("site.toml:2:1: after must be"));
  CHECK(error_of("[check]\ndepth = \"off\"\n") ==
        "site.toml:2:1: depth must be one of \"fast\", \"full\", \"gpu\"");
  CHECK(error_of("[slow]\nround = 3\n")
            .starts_with("site.toml:2:1: unknown key 'round' (did you mean rounds?)"));
  CHECK(error_of("[slow]\nevery = 0\n").starts_with("site.toml:2:1: every must be a time"));
  CHECK(error_of("[slow]\nrounds = \"5\"\n").starts_with("site.toml:2:1: rounds must be a"));
  CHECK(error_of("[replay]\nunit = 0\n") == "site.toml:2:1: unit must be a number from 1 to 65536");
  CHECK(error_of("[resume]\npoison_steps = 0\n") ==
        "site.toml:2:1: poison_steps must be a number from 1 to 1000000");
  CHECK(error_of("[resume]\nsteps = 1\n").find("poison_after, poison_steps") != std::string::npos);
  CHECK(error_of("[metrics]\nnan = true\n") == "site.toml:2:1: nan must be \"say\" or \"act\"");
  CHECK(error_of("[metrics]\nloss = \"act\"\n").find("nan, jump, times") != std::string::npos);
  CHECK(error_of("[hangs]\nstil = 0\n").find("did you mean still?") != std::string::npos);
  CHECK(error_of("[hangs]\nstill = \"soon\"\n").starts_with("site.toml:2:1: still must be a time"));
  CHECK(error_of("[check\n").starts_with("site.toml:1:"));
}

TEST_CASE("the policy in words names every step and every limit") {
  const std::string words = policy_text(shipped());
  for (const char* const part :
       {"a machine is broken (evict)", "1. evict the machine to blame", "check all nodes",
        "roll back to the version", "end the run", "2 times within 5 min",
        "3 failures within 60 min", "as hanging after 10 s", "compared in 5 rounds",
        "replay on groups of nodes", "failed within 20 steps of loading it 2 times"}) {
    CAPTURE(part);
    CHECK(words.find(part) != std::string::npos);
  }
  Policy changed = shipped();
  changed.blamed = 0;
  changed.slow.rounds = 0;
  CHECK(policy_text(changed).find("failures within") == std::string::npos);
  CHECK(policy_text(changed).find("are compared in") == std::string::npos);
  changed.acts_on_nan = true;
  CHECK(words.find("ends the attempt, at most") == std::string::npos);
  CHECK(policy_text(changed).find("A loss or gradient norm that is not a number ends the attempt, "
                                  "at most 4 times per run.") != std::string::npos);
  CHECK(policy_text(Policy{}).starts_with("Every failure leads to a restart"));
}

}  // namespace
}  // namespace robustrun::cli::policy_file_test
