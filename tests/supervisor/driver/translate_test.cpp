#include "supervisor/driver/translate.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "wire/messages/limits.h"

namespace robustrun::supervisor::translate_test {
namespace {

TEST_CASE("what an agent noticed is short and printable, whatever it sent") {
  wire::NodeHealth message;
  message.source = wire::NodeHealth::Source::kClock;
  message.subject = "eth0\x1b[2J";
  message.line = std::string(10 * wire::kHealthLineBytesMax, '\n');
  message.xid = 79;
  message.over = true;
  const NodeHealth event = checked(message);
  CHECK(event.source == NodeHealth::Source::kClock);
  CHECK(event.subject == "eth0\\x1b[2J");
  CHECK(event.line.size() <= wire::kHealthLineBytesMax);
  CHECK(event.line.starts_with("\\x0a\\x0a"));
  CHECK(event.xid == 79);
  CHECK(event.over);
}

TEST_CASE("a source that only a newer agent knows is taken for the kernel's log") {
  wire::NodeHealth message;
  message.source = static_cast<wire::NodeHealth::Source>(wire::kHealthSources);
  CHECK(checked(message).source == NodeHealth::Source::kKernel);
}

TEST_CASE("what was moved is short and printable, whatever an agent sent") {
  const std::string hostile = "\x1b[2J" + std::string(1 << 16, 'a');
  const CheckpointMoved event = checked(CheckpointMoved{{1}, hostile, hostile, hostile});
  CHECK(event.path.starts_with("\\x1b[2J"));
  CHECK(event.path.size() == wire::kMovedPathBytesMax);
  CHECK(event.moved_to.size() == wire::kMovedPathBytesMax);
  CHECK(event.evidence.size() == wire::kHealthLineBytesMax);
}

TEST_CASE("stages are believed as far as they are possible, by our clock and with global ranks") {
  using wire::StageName;
  const auto seconds = [](std::int64_t value) -> base::Nanos {
    return std::chrono::seconds(value);
  };
  wire::NodeStages message{{3}, {}};
  const auto add = [&](StageName name, std::int64_t begin, std::int64_t end, std::int64_t took,
                       std::uint32_t slowest) {
    message.stages.push_back(
        {name, seconds(begin), seconds(end), seconds(took), base::LocalRank{slowest}});
  };
  add(StageName::kAllocate, 1, 2, 1, 0);  // the supervisor's own
  add(StageName::kImports, 10, 12, 2, 1);
  add(StageName::kImports, 10, 13, 2, 1);  // twice
  add(StageName::kImage, 1, 2, 1, 0);  // out of order
  add(StageName::kProcessGroup, 14, 13, 0, 0);  // ends before it begins
  add(StageName::kModel, 14, 15, 2, 0);  // longer than it is
  add(StageName::kLoad, 15, 0, 4, 77);  // goes on; of a rank that is not there
  add(StageName::kFirstStep, -5, 20, 1, 0);
  add(static_cast<StageName>(wire::kStageNames), 1, 2, 1, 0);
  const StartStages event = to_event(message, {{8}, {9}}, seconds(100));
  CHECK(event.attempt == base::Attempt{3});
  REQUIRE(event.stages.size() == 2);
  CHECK(event.stages[0].stage == StageName::kImports);
  CHECK(event.stages[0].begin == seconds(110));
  CHECK(event.stages[0].end == seconds(112));
  CHECK(event.stages[0].took == seconds(2));
  CHECK(event.stages[0].slowest == base::Rank{9});
  CHECK(event.stages[1].stage == StageName::kLoad);
  CHECK(event.stages[1].end == base::Nanos{});
  CHECK_FALSE(event.stages[1].slowest);
}

}  // namespace
}  // namespace robustrun::supervisor::translate_test
