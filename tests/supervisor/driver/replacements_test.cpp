// When jobs for nodes in place of lost ones are queued and cancelled, and what the user reads of
// them.
#include "supervisor/driver/replacements.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::replacements_test {
namespace {

using namespace std::chrono_literals;
using launcher::ReplacementAnswer;
using launcher::ReplacementJob;
using launcher::ReplacementOrder;
using Names = std::vector<std::string>;

constexpr base::Nanos kPoll = 1ms;

// A group of three nodes, and a Slurm that is played by its queue.
struct Group {
  explicit Group(std::uint32_t most = 2, std::vector<ReplacementJob> known = {},
                 std::string error = {})
      : nodes(3), queue(std::move(known)), list_error(std::move(error)) {
    Replacements::Hands hands;
    hands.order = [this](ReplacementOrder order, std::function<void(ReplacementAnswer)> done) {
      if (order.count > 0 || !order.cancel.empty() || !order.widen.empty()) orders.push_back(order);
      ++asked;
      if (!is_silent) done(answer(order));
    };
    hands.works = [this](base::NodeId node) {
      return nodes.table[node].joined && !nodes.table[node].lost;
    };
    hands.is_ending = [this] { return is_ending; };
    replacements.emplace(loop.executor(), clock, nodes.table,
                         Replacements::Settings{most, 3, kPoll}, std::move(hands));
    replacements->begin();
  }

  ReplacementAnswer answer(const ReplacementOrder& order) {
    ReplacementAnswer made{queue, {}, order.count > 0 ? refusal : ""};
    if (!list_error.empty()) {
      made.jobs = base::fail(base::Errc::kTimeout, list_error);
      return made;
    }
    std::erase_if(queue, [&](const auto& job) {
      return !is_stuck && std::ranges::find(order.cancel, job.id) != order.cancel.end();
    });
    for (std::uint32_t i = 0; i < order.count && refusal.empty(); ++i) {
      made.queued.push_back(std::to_string(next_id++));
      queue.push_back({made.queued.back(), false, "", "Priority"});
    }
    made.jobs = queue;
    return made;
  }
  // Time goes by, and every node and job is looked at several times.
  void pass(base::Nanos time = 2 * kPoll) {
    clock.time += time;
    loop.run_for(5ms);
    clock.time += 2 * kPoll;
    loop.run_for(5ms);
  }
  [[nodiscard]] bool is_cancelled(const std::string& job) const {
    return std::ranges::any_of(orders, [&](const ReplacementOrder& order) {
      return std::ranges::find(order.cancel, job) != order.cancel.end();
    });
  }
  [[nodiscard]] std::size_t asks() const {  // for jobs
    return static_cast<std::size_t>(std::ranges::count_if(
        orders, [](const ReplacementOrder& order) { return order.count > 0; }));
  }
  void lose(std::uint32_t node) { nodes.table[{node}].lost = true; }
  // The job starts on a host, whose agent joins.
  void start(std::size_t job, const std::string& host) {
    queue[job] = {queue[job].id, true, host, ""};
  }
  void join(const std::string& host) { nodes.table[nodes.table.add(host)].joined = true; }

  robustrun::test::CapturedLog log{};
  robustrun::test::Loop loop{};
  SetClock clock{};
  FakeNodes nodes;
  std::vector<ReplacementJob> queue;
  std::vector<ReplacementOrder> orders;
  std::string refusal, list_error;
  int next_id = 17, asked = 0;
  bool is_silent = false, is_ending = false, is_stuck = false;
  std::optional<Replacements> replacements;
};

TEST_CASE("a job is queued for a node that stays lost, without that host, and brings another") {
  Group group;
  group.pass(1h);
  CHECK(group.orders.empty());
  group.lose(1);
  group.pass();
  CHECK(group.orders.empty());  // its agent may come back
  group.pass(kReplacePatience);
  REQUIRE(group.asks() == 1);
  CHECK(group.orders[0].count == 1);
  CHECK(group.orders[0].bad == Names{"n1"});
  CHECK(group.orders[0].near == Names{"n0", "n2"});
  group.start(0, "n9");
  group.join("n9");
  group.pass();
  group.pass(1h);
  CHECK(group.asks() == 1);
  CHECK_FALSE(group.is_cancelled("17"));
  CHECK(group.log.text() ==
        "2 of 3 nodes are there: job 17 is queued for one more (--replace)\n"
        "job 17 waits in Slurm's queue (Priority); the run goes on\n"
        "job 17 brought n9\n");
}

TEST_CASE("there are never more jobs than --replace allows, with those that brought a node") {
  Group group(2);
  for (const std::uint32_t node : {0U, 1U, 2U}) group.lose(node);
  group.pass();
  group.pass(kReplacePatience);
  REQUIRE(group.asks() == 1);
  CHECK(group.orders[0].count == 2);
  group.start(0, "n8");
  group.join("n8");
  group.pass();
  group.pass(1h);
  CHECK(group.queue.size() == 2);
  // A node that came and is lost: its job ends, and another one may be queued.
  group.nodes.table[*group.nodes.table.find("n8")].lost = true;
  group.pass();
  CHECK(group.is_cancelled("17"));
  group.pass(kReplacePatience);
  CHECK(group.queue.size() == 2);
  CHECK(group.next_id == 20);
}

TEST_CASE("a job that waits is told once, gets any host, and goes when the node comes back") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  for (int i = 0; i < 5; ++i) group.pass();
  REQUIRE(group.orders.size() == 2);
  CHECK(group.orders[1].widen == Names{"17"});
  group.nodes.table[{1}].lost = false;
  group.pass();
  REQUIRE(group.orders.size() == 3);
  CHECK(group.orders[2].cancel == Names{"17"});
  CHECK(group.queue.empty());
  group.pass(1h);
  CHECK(group.orders.size() == 3);
  CHECK(group.log.text() ==
        "2 of 3 nodes are there: job 17 is queued for one more (--replace)\n"
        "job 17 waits in Slurm's queue (Priority); the run goes on\n"
        "job 17 is cancelled: 3 of 3 nodes are there\n");
}

TEST_CASE("a refusal is told once, and asked for again after growing waits") {
  Group group;
  group.refusal = "sbatch ended with exit code 1: Invalid account";
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  CHECK(group.orders.size() == 1);
  group.pass(30s);
  CHECK(group.orders.size() == 1);
  group.pass(31s);
  CHECK(group.orders.size() == 2);
  group.pass(61s);
  CHECK(group.orders.size() == 2);
  for (int i = 0; i < 3 * 60; ++i) {
    group.clock.time += 1min;
    group.loop.run_for(1ms);
  }
  CHECK(group.orders.size() < 14);  // in three hours
  CHECK(group.log.text() ==
        "no node comes in place of lost ones for now: sbatch ended with exit code 1: Invalid "
        "account; the run goes on\n");
  group.refusal = "";
  group.pass(kReplaceAgainMax);
  CHECK(group.queue.size() == 1);
}

TEST_CASE("a job that ends before its node came does not lead to one job after another") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  for (int i = 0; i < 100; ++i) {
    group.queue.clear();
    group.pass(10s);
  }
  CHECK(group.next_id - 17 < 8);
}

TEST_CASE("a node that leaves may save before its job is cancelled") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  group.start(0, "n9");
  group.join("n9");
  group.pass();
  group.nodes.table[*group.nodes.table.find("n9")].joined = false;
  group.pass();
  group.pass(kReplaceJoinMax - 10s);
  CHECK_FALSE(group.is_cancelled("17"));
  group.pass(20s);
  CHECK(group.is_cancelled("17"));
}

TEST_CASE("a job that cannot be cancelled is told of once, and Slurm is told at each look") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  group.is_stuck = true;
  group.nodes.table[{1}].lost = false;
  for (int i = 0; i < 10; ++i) group.pass();
  CHECK(group.orders.size() > 5);
  CHECK(group.orders.size() < 40);
  CHECK(group.log.text().find("is cancelled") == group.log.text().rfind("is cancelled"));
  // It counts no more: the next lost node gets a job.
  group.lose(0);
  group.pass();
  group.pass(kReplacePatience);
  CHECK(group.next_id == 19);
}

TEST_CASE("a list that misses a job once does not lead to a second job") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  for (int i = 0; i < 10; ++i) {
    const auto whole = std::exchange(group.queue, {});
    group.clock.time += 2 * kPoll;
    const int asked = group.asked;
    REQUIRE(group.loop.run_until([&] { return group.asked > asked; }));
    group.queue = whole;
    group.pass(kReplaceAgainMax);
  }
  CHECK(group.next_id == 18);
}

TEST_CASE("a job that lists missed several times is known again, and not queued once more") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  const auto whole = std::exchange(group.queue, {});
  for (int i = 0; i < 10; ++i) group.pass();
  CHECK(group.log.text().find("job 17 ended before its node came") != std::string::npos);
  group.queue = whole;
  group.pass();
  group.pass(kReplaceAgainMax);
  CHECK(group.next_id == 18);
  group.start(0, "n9");
  group.join("n9");
  group.pass();
  CHECK(group.log.text().find("job 17 brought n9") != std::string::npos);

  // Slurm does not answer any more after the second wrong list.
  Group late;
  late.lose(1);
  late.pass();
  late.pass(kReplacePatience);
  const auto there = std::exchange(late.queue, {});
  for (int i = 0; i < 2; ++i) {
    late.clock.time += 2 * kPoll;
    const int asked = late.asked;
    REQUIRE(late.loop.run_until([&] { return late.asked > asked; }));
  }
  CHECK(late.log.text().find("job 17 ended before its node came") != std::string::npos);
  late.list_error = "squeue ended with exit code 1: no controller";
  late.pass();
  late.pass(kReplaceAgainMax);
  CHECK(late.asks() == 1);
  late.list_error.clear();
  late.queue = there;
  late.pass();
  late.pass(kReplaceAgainMax);
  CHECK(late.asks() == 1);
}

TEST_CASE("an agent that does not join costs its job") {
  Group group;
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  group.start(0, "n9");
  group.pass();
  group.pass(kReplaceJoinMax);
  CHECK(group.is_cancelled("17"));
  CHECK(group.log.text().find("job 17 is cancelled: its agent on n9 did not join within 120 s; "
                              "agents/job-17.log has its output") != std::string::npos);
}

TEST_CASE("jobs of another supervisor are taken over") {
  Group group(2, {{"12", true, "n9", ""}, {"13", false, "", "Resources"}});
  group.join("n9");
  group.lose(0);
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  for (const ReplacementOrder& order : group.orders) CHECK(order.count == 0);
  group.nodes.table[{1}].lost = false;
  group.pass();
  CHECK(group.is_cancelled("13"));
  CHECK_FALSE(group.is_cancelled("12"));
}

TEST_CASE("while Slurm is silent, its queue is unknown, or the run ends, nothing is queued") {
  Group silent;
  silent.is_silent = true;
  silent.lose(1);
  silent.pass();
  silent.pass(1h);
  CHECK(silent.asked == 2);  // at the start, and for the job
  CHECK(silent.asks() == 1);

  Group failing(2, {}, "squeue ended with exit code 1: no controller");
  failing.lose(1);
  failing.pass();
  failing.pass(1h);
  CHECK(failing.orders.empty());
  CHECK(failing.asked > 1);
  CHECK(failing.log.text() ==
        "no node comes in place of lost ones for now: squeue ended with exit code 1: no "
        "controller; the run goes on\n");

  Group ending;
  ending.pass();
  ending.is_ending = true;
  ending.lose(1);
  ending.pass(1h);
  CHECK(ending.orders.empty());
}

TEST_CASE("at the end of the run, jobs whose nodes have not come are cancelled") {
  Group group;
  group.lose(0);
  group.lose(1);
  group.pass();
  group.pass(kReplacePatience);
  group.start(0, "n9");
  group.join("n9");
  group.pass();
  group.replacements->release();
  CHECK(group.orders.back().cancel == Names{"18"});
  const int asked = group.asked;
  group.pass(1h);
  CHECK(group.asked == asked);
}

TEST_CASE("without --replace Slurm is not asked") {
  Group group(0);
  group.lose(1);
  group.pass(1h);
  CHECK(group.asked == 0);
}

}  // namespace
}  // namespace robustrun::supervisor::test::replacements_test
