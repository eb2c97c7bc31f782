#include "supervisor/translate.h"

#include <doctest/doctest.h>

#include <string>

#include "wire/limits.h"

namespace robustrun::supervisor::translate_test {
namespace {

TEST_CASE("what an agent noticed is short and printable, whatever it sent") {
  wire::NodeHealth message;
  message.source = wire::NodeHealth::Source::kClock;
  message.subject = "eth0\x1b[2J";
  message.line = std::string(10 * wire::kHealthLineBytesMax, '\n');
  message.xid = 79;
  message.over = true;
  const NodeHealth event = to_event(message);
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
  CHECK(to_event(message).source == NodeHealth::Source::kKernel);
}

}  // namespace
}  // namespace robustrun::supervisor::translate_test
