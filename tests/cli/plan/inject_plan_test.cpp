#include "cli/plan/inject_plan.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::cli::inject_plan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kOwnSeed = 4711;

base::Result<InjectPlan> plan(const std::vector<std::string>& words) {
  const auto line = parse_inject_line(words);
  if (!line) return std::unexpected(line.error());
  return plan_injection(*line, kOwnSeed);
}

// The error of a refused line; always kInvalidArgument.
std::string refusal(const std::vector<std::string>& words) {
  const auto made = plan(words);
  if (made) return "no error";
  CHECK(made.error().code == base::Errc::kInvalidArgument);
  CHECK(made.error().what.find('\n') == std::string::npos);
  return made.error().what;
}

bool names(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("a bare kind hits a drawn target, once, at once") {
  const auto made = plan({"kill"});
  REQUIRE(made);
  CHECK(made->run.empty());
  CHECK(made->fault.kind == wire::FaultKind::kKill);
  CHECK_FALSE(made->fault.rank);
  CHECK(made->fault.node.empty());
  CHECK(made->draws);
  CHECK(made->seed == kOwnSeed);
  CHECK(made->after == base::Nanos{});
  CHECK_FALSE(made->every);
  CHECK(made->fault.duration == base::Nanos{});
}

TEST_CASE("all options fit on one line") {
  const auto made = plan({"my-run", "net-delay", "--node", "h2", "--for", "2m", "--delay", "1.5",
                          "--after=30s", "--every=1h", "--seed=7"});
  REQUIRE(made);
  CHECK(made->run == "my-run");
  CHECK(made->fault.kind == wire::FaultKind::kNetDelay);
  CHECK(made->fault.node == "h2");
  CHECK(made->fault.duration == seconds(120));
  CHECK(made->fault.delay == milliseconds(1500));
  CHECK(made->after == seconds(30));
  CHECK(made->every == seconds(3600));
  CHECK(made->seed == 7);
  CHECK_FALSE(made->draws);
}

TEST_CASE("a seed is printed when the target is drawn, and only then") {
  CHECK_FALSE(plan({"kill", "--rank=3"})->draws);
  CHECK(plan({"kill", "--node=h2"})->draws);  // one of its ranks
  CHECK_FALSE(plan({"agent-death", "--node=h2"})->draws);
  CHECK_FALSE(plan({"agent-death", "--rank=3"})->draws);
  CHECK(plan({"agent-death"})->draws);
  CHECK_FALSE(plan({"supervisor-death"})->draws);
}

TEST_CASE("faults that last have a duration; instant ones take none") {
  CHECK(plan({"gil-lock"})->fault.duration == seconds(10));
  CHECK(plan({"stop"})->fault.duration == base::Nanos{});
  CHECK(plan({"stop", "--for=200ms"})->fault.duration == milliseconds(200));
  CHECK(plan({"net-delay"})->fault.delay == seconds(1));
  CHECK(plan({"net-drop"})->fault.delay == base::Nanos{});
  for (const char* const kind : {"kill", "segfault", "abort", "exception", "agent-death"}) {
    CHECK(names(refusal({kind, "--for=5s"}), "argument --for"));
  }
  for (const char* const kind : {"kill", "net-drop", "disk-full"}) {
    CHECK(names(refusal({kind, "--delay=5s"}), "argument --delay"));
  }
}

TEST_CASE("a kind that does not exist is refused with its neighbour and the list") {
  const std::string text = refusal({"segfualt"});
  CHECK(names(text, "invalid choice: 'segfualt' (did you mean segfault?)"));
  for (const wire::FaultRow& row : wire::fault_rows()) CHECK(names(text, std::string(row.name)));
  CHECK(names(refusal({}), "KIND"));
  CHECK(names(refusal({"KILL"}), "invalid choice"));
  CHECK(refusal({"one", "two", "three"}) != "no error");
}

TEST_CASE("invalid and empty times are refused by the option's name") {
  for (const char* const option : {"--after", "--every", "--for", "--delay"}) {
    for (const char* const text :
         {"", "x", "-1", "1s2", "1w", "nan", "inf", "1e400", "999999999d"}) {
      CAPTURE(option);
      CAPTURE(text);
      CHECK(names(refusal({"net-delay", fmt::format("{}={}", option, text)}), option));
    }
  }
  for (const char* const option : {"--every", "--for", "--delay"}) {
    CHECK(names(refusal({"net-delay", fmt::format("{}=0", option)}), "must be above 0"));
  }
  CHECK(plan({"kill", "--after=0"})->after == base::Nanos{});
}

TEST_CASE("invalid ranks and seeds are refused by the option's name") {
  for (const char* const text : {"", "x", "-1", "1.5", "0x10", "4294967296"}) {
    CAPTURE(text);
    CHECK(names(refusal({"kill", fmt::format("--rank={}", text)}), "--rank"));
  }
  for (const char* const text : {"", "seed", "-1", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK(names(refusal({"kill", fmt::format("--seed={}", text)}), "--seed"));
  }
  CHECK(plan({"kill", "--seed=9223372036854775807"})->seed == 9223372036854775807ULL);
  CHECK(plan({"kill", "--rank=0"})->fault.rank == base::Rank{0});
}

TEST_CASE("a node without a name is refused") {
  CHECK(names(refusal({"kill", "--node="}), "--node"));
}

TEST_CASE("a target is a rank or a node, and the supervisor is neither") {
  CHECK(names(refusal({"kill", "--rank=1", "--node=h2"}), "not allowed with argument --rank"));
  CHECK(names(refusal({"supervisor-death", "--rank=1"}), "supervisor-death"));
  CHECK(names(refusal({"supervisor-death", "--node=h2"}), "supervisor-death"));
}

TEST_CASE("the same seed draws the same targets, another seed others") {
  const auto draws = [](std::uint64_t seed) {
    base::Rng rng(plan({"kill", fmt::format("--seed={}", seed)})->seed);
    std::vector<std::uint64_t> out;
    for (int i = 0; i < 20; ++i) out.push_back(rng.next() % 8);
    return out;
  };
  CHECK(draws(7) == draws(7));
  CHECK(draws(7) != draws(8));
  const auto drawn = draws(7);
  CHECK(std::set(drawn.begin(), drawn.end()).size() > 3);
}

TEST_CASE("a line for each fault names kind and target") {
  using Report = supervisor::FaultReport;
  const auto line = [](wire::FaultKind kind, const Report& report) {
    return injection_text(seconds(3723), kind, report).substr(8);  // without the local time
  };
  CHECK(line(wire::FaultKind::kKill, Report{base::Rank{3}, "node01", 4242, "SIGKILL"}) ==
        "  kill  rank 3 on node01 (pid 4242)");
  CHECK(line(wire::FaultKind::kNetDrop, Report{{}, "node01", 0, "nothing passes, for 3 s"}) ==
        "  net-drop  node01: nothing passes, for 3 s");
  CHECK(line(wire::FaultKind::kSupervisorDeath, Report{{}, "", 17, "SIGKILL"}) ==
        "  supervisor-death  the supervisor (pid 17)");
  const std::string hostile =
      line(wire::FaultKind::kNetDrop, Report{{}, "a\x1b[2Jb", 0, "line\nbreak"});
  CHECK(hostile.find_first_of("\x1b\n") == std::string::npos);
}

}  // namespace
}  // namespace robustrun::cli::inject_plan_test
