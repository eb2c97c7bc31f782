// --notify: its targets, its secrets, and what is refused.
#include "cli/plan/notify.h"

#include <doctest/doctest.h>

#include "cli/options/limits.h"
#include "cli/options/print_config.h"
#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::notify_test {
namespace {

using testing::World;
using Kind = supervisor::NotifyTarget::Kind;

base::Result<supervisor::NotifyPlan> planned(const World& world, std::vector<std::string> argv,
                                             std::vector<std::string>* warned = nullptr) {
  argv.emplace_back("train.py");
  std::vector<std::string> warnings;
  auto plan = plan_notify(world.merge(argv).value(), world.around, warnings);
  if (warned != nullptr) *warned = warnings;
  return plan;
}

std::string refusal(const std::string& value) {
  const World world;
  const auto plan = planned(world, {"--notify=" + value});
  return plan ? "no error" : plan.error().what;
}

TEST_CASE("several targets, and the time without a step") {
  World world;
  world.machine.executables.insert("/usr/sbin/sendmail");
  const auto plan = planned(world, {"--notify=slack:https://h/a,,b, mail:me@x.org,ntfy:http://n/t",
                                    "--notify-stalled=2m"});
  REQUIRE(plan);
  REQUIRE(plan->targets.size() == 3);
  CHECK(plan->targets[0].kind == Kind::kSlack);
  CHECK(plan->targets[0].address == "https://h/a,b");
  CHECK(plan->targets[1].kind == Kind::kMail);
  CHECK(plan->sendmail == "/usr/sbin/sendmail");
  CHECK(plan->stalled_after == std::chrono::minutes(2));
  CHECK(planned(world, {})->targets.empty());
  CHECK(planned(world, {})->stalled_after == std::chrono::minutes(30));
}

TEST_CASE("mail without sendmail is left out with a warning") {
  const World world;
  std::vector<std::string> warnings;
  const auto plan = planned(world, {"--notify=mail:me,webhook:http://h/x"}, &warnings);
  REQUIRE(plan);
  REQUIRE(plan->targets.size() == 1);
  CHECK(plan->targets[0].kind == Kind::kWebhook);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("no sendmail") != std::string::npos);
}

TEST_CASE("wrong targets are refused, without the secret") {
  for (const char* bad :
       {"secret", "https://h/secret", "sms:secret", "slack:secret", "slack:ftp://h/secret",
        "slack:https:///secret", "webhook:http://h/se cret", "mail:-secret", "mail:secret secret",
        "mail:"}) {
    CAPTURE(bad);
    const std::string what = refusal(bad);
    CHECK(what.starts_with("cannot use --notify=***: "));
    CHECK(what.find("secret") == std::string::npos);
  }
  std::string many = "webhook:http://h/0";
  for (std::size_t i = 0; i < kNotifyTargetsMax; ++i) many += ",webhook:http://h/1";
  CHECK(refusal(many).find("more than 8 targets") != std::string::npos);
  CHECK(refusal("slack:https://h/" + std::string(kNotifyAddressBytesMax, 'x')).find("bytes") !=
        std::string::npos);
}

TEST_CASE("the URL is shown nowhere, and workers do not get it") {
  World world;
  world.around.environment.push_back("ROBUSTRUN_NOTIFY=slack:https://h/s3cret");
  const std::vector<std::string> argv{"--notify", "ntfy:https://h/s3cret", "train.py"};
  for (const auto& words : {argv, std::vector<std::string>{"train.py"}}) {
    const Settings settings = world.merge(words).value();
    CHECK(config_toml(settings).find("s3cret") == std::string::npos);
    CHECK(config_json(settings).find("s3cret") == std::string::npos);
    const auto plan = plan_run(settings, words, world.around);
    REQUIRE(plan);
    CHECK(plan->request.outlets.notify.targets.size() == 1);
    for (const std::string& word : plan->request.spec.command) {
      CHECK(word.find("s3cret") == std::string::npos);
    }
    for (const std::string& entry : plan->request.workers.environment) {
      CHECK(entry.find("s3cret") == std::string::npos);
    }
  }
}

TEST_CASE("GitHub's files count in its own jobs alone, and not in compat mode") {
  World world;
  const std::vector<std::string> argv{"train.py"};
  const auto ci = [&](std::vector<std::string> words) {
    return plan_run(world.merge(words).value(), words, world.around)->request.ci;
  };
  world.around.environment.push_back("GITHUB_STEP_SUMMARY=/sum");
  CHECK(ci(argv).summary_file.empty());
  world.around.environment.push_back("GITHUB_ACTIONS=true");
  CHECK(ci(argv).summary_file == "/sum");
  CHECK(ci(argv).annotate);
  CHECK_FALSE(ci({"--compat=torchrun", "train.py"}).annotate);
}

}  // namespace
}  // namespace robustrun::cli::notify_test
