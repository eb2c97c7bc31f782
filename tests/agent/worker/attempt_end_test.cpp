#include "agent/worker/attempt_end.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <utility>

#include "tests/agent/played_tier.h"

namespace attempt_end_test {

using namespace robustrun;
using agent::AttemptEnd;
using test::PlayedTier;

namespace {

struct End {
  boost::asio::io_context loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.get_executor(), 1, 4};
  std::string calls;  // in order
  agent::NodeContext node{loop.get_executor(),
                          clock,
                          pool,
                          [this](const wire::Message& message) {
                            const auto& over = std::get<wire::SavingOver>(message);
                            CHECK(over.order == 0);
                            calls += "over " + std::to_string(over.made_in.value) + " ";
                          },
                          {},
                          {},
                          {}};
  PlayedTier tier;
  std::shared_ptr<AttemptEnd> end = std::make_shared<AttemptEnd>(node, tier);

  void begin(std::uint32_t attempt) {
    end->begin({attempt}, clock.wall_time(),
               {[this](const std::vector<std::string>&) {
                  calls += end->is_saving() ? "gone and saving " : "gone ";
                },
                [this] { calls += "saved "; }});
  }
  // Waits until /dev/shm has been swept.
  void run() {
    loop.restart();
    loop.run();
  }
};

}  // namespace

TEST_CASE("an attempt ends when its copies are saved if no other one follows") {
  End one;
  one.begin(0);
  one.run();
  CHECK(one.calls.empty());
  CHECK(one.end->has_begun());
  one.tier.late();
  CHECK(one.calls == "gone ");
  one.tier.over();
  CHECK(one.calls == "gone ");
  CHECK_FALSE(one.end->is_waited_for());
}

TEST_CASE("where another attempt follows it ends at once, and the end of saving is reported") {
  End one;
  SUBCASE("which is known before") { one.end->set_goes_on(true); }
  SUBCASE("which is known afterwards") {}
  one.begin(4);
  one.run();
  one.end->set_goes_on(true);
  CHECK(one.calls == "gone and saving ");
  CHECK(one.end->is_waited_for());
  one.tier.late();
  CHECK(one.calls == "gone and saving saved ");
  CHECK_FALSE(one.end->is_waited_for());
  CHECK(one.end->is_saving());
  one.tier.over();
  CHECK(one.calls == "gone and saving saved over 4 ");
  CHECK_FALSE(one.end->is_saving());
}

TEST_CASE("without copies there is nothing to report") {
  End one;
  one.tier.has_copies = false;
  one.end->set_goes_on(true);
  one.begin(0);
  one.run();
  one.tier.over();
  CHECK(one.calls == "gone ");
}

TEST_CASE("a run that ends unexpectedly waits for the copies") {
  End one;
  one.end->set_goes_on(true);
  one.end->set_goes_on(false);
  one.begin(0);
  one.run();
  CHECK(one.calls.empty());
  one.tier.over();
  CHECK(one.calls == "gone ");
}

TEST_CASE("the end of saving is reported to the supervisor only, not to the next attempt") {
  End one;
  one.end->set_goes_on(true);
  one.begin(0);
  one.run();
  one.end->begin_attempt();
  CHECK_FALSE(one.end->has_begun());
  CHECK_FALSE(one.end->is_saving());
  one.tier.over();
  CHECK(one.calls == "gone and saving over 0 ");
  one.calls.clear();
  one.begin(1);  // it is not known that another one follows
  one.run();
  CHECK(one.calls.empty());
}

}  // namespace attempt_end_test
