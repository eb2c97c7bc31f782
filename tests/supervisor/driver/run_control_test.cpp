// What other commands may ask of a run and order it to do.
#include "supervisor/driver/run_control.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "supervisor/control/view_rows.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::run_control_test {
namespace {

// Two nodes with two ranks each, all of which run.
struct Controlled {
  explicit Controlled(const JobSpec& spec = make_spec({2, 2})) : job(spec) {
    job.run();
    RunControl::Hands hands;
    hands.status = [] { return RunStatus{}; };
    hands.tell = [](OutputNews&) {};
    hands.is_over = [this] { return is_over; };
    hands.on_event = [this](EventBody event, base::NodeId node) {
      events.emplace_back(std::move(event), node);
    };
    control.emplace(loop.executor(), RunControl::Sources{request, job.job, nodes.table, looks, hub},
                    std::move(hands));
  }
  // Empty: it is not answered yet.
  std::string ask(const ControlFields& fields) {
    auto rows = control->rows();
    const auto row =
        std::ranges::find(rows, fields.at("command"), [](const auto& one) { return one.command; });
    REQUIRE(row != rows.end());
    row->answer(fields, ControlServer::Reply([this](std::string text, const auto&, const auto&) {
                  answer = std::move(text);
                }));
    return std::exchange(answer, {});
  }

  Harness job;
  robustrun::test::Loop loop{};
  FakeNodes nodes{2};
  const RunRequest request;
  OutputHub hub{loop.executor()};
  WorkerLooks looks{loop.executor(),
                    nodes.table,
                    {[this] { return job.job.attempt(); }, [] { return true; }, {}, {}, {}}};
  std::vector<std::pair<EventBody, base::NodeId>> events;
  std::string answer;
  bool is_over = false;
  std::optional<RunControl> control;
};

TEST_CASE("a user's eviction is a finding about the machine") {
  Controlled run(policy_spec({2, 2, 2}, 2, 2));  // a spare can take the place
  CHECK(run.ask(evict_request("n1")).find("error") == std::string::npos);
  REQUIRE(run.events.size() == 1);
  const auto* health = std::get_if<NodeHealth>(&run.events[0].first);
  REQUIRE(health != nullptr);
  CHECK(health->source == NodeHealth::Source::kUser);
  CHECK(run.events[0].second == base::NodeId{1});
}

TEST_CASE("only nodes of the run can be evicted") {
  Controlled run;
  const std::string refusal = run.ask(evict_request("n7\n"));
  CHECK(refusal.find("no node of this run is called 'n7") != std::string::npos);
  CHECK(run.events.empty());
}

TEST_CASE("once the run is over its agents take no orders, but the status can be read") {
  Controlled run;
  run.is_over = true;
  for (const char* command : {"inject", "diagnose", "use", "stacks", "evict", "update"}) {
    CAPTURE(command);
    CHECK(run.ask({{"command", command}}) == control_refusal("the run is over"));
  }
  CHECK(run.ask({{"command", "status"}}) != control_refusal("the run is over"));
  CHECK(run.events.empty());
}

TEST_CASE("a stop is the user's signal") {
  Controlled run;
  run.ask({{"command", "stop"}, {"signal", "15"}});
  REQUIRE(run.events.size() == 1);
  const auto* signal = std::get_if<SignalReceived>(&run.events[0].first);
  REQUIRE(signal != nullptr);
  CHECK(signal->signal == 15);
  CHECK(signal->by == "robustrun stop");
}

TEST_CASE("a diagnosis asks all nodes while workers run, and none otherwise") {
  Controlled run;
  CHECK(run.ask({{"command", "diagnose"}}).empty());
  CHECK(run.nodes.sent_to<wire::Observe>(0).size() == 1);
  CHECK(run.nodes.sent_to<wire::Observe>(1).size() == 1);
  Controlled stopping;
  stopping.job.tell_exit(exited(0, 0, 1));
  CHECK_FALSE(stopping.ask({{"command", "diagnose"}}).empty());
  CHECK(stopping.nodes.sent_to<wire::Observe>(0).empty());
}

TEST_CASE("a fault is ordered on the node of its rank, among those that are connected") {
  Controlled run;
  run.nodes.table[{0}].channel.reset();
  CHECK(run.ask({{"command", "inject"}, {"kind", "kill"}}).empty());
  CHECK(run.nodes.sent_to<wire::Inject>(0).empty());
  const auto orders = run.nodes.sent_to<wire::Inject>(1);
  REQUIRE(orders.size() == 1);
  wire::Injected done;
  done.id = orders[0].id;
  run.control->on_report({1}, done);
  CHECK_FALSE(run.answer.empty());
  REQUIRE(run.events.size() == 1);
  CHECK(std::holds_alternative<FaultInjected>(run.events[0].first));
}

}  // namespace
}  // namespace robustrun::supervisor::test::run_control_test
