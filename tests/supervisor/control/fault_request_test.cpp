#include "supervisor/control/fault_request.h"

#include <doctest/doctest.h>

#include "supervisor/limits.h"

namespace robustrun::supervisor::fault_request_test {
namespace {

ControlFields kill_with(const char* name, const std::string& value) {
  return {{"command", "inject"}, {"kind", "kill"}, {name, value}};
}

TEST_CASE("a request comes back from its fields as it was, also through JSON") {
  for (const wire::FaultRow& row : wire::fault_rows()) {
    FaultRequest request;
    request.kind = row.kind;
    request.draw = UINT64_MAX;
    request.duration = std::chrono::milliseconds(1500);
    request.delay = base::Nanos(7);
    if (row.target == wire::FaultRow::Target::kRank) request.rank = base::Rank{3};
    if (row.target == wire::FaultRow::Target::kNode) request.node = "caf\xc3\xa9 \"2\"";
    const auto fields = read_control_message(write_control_message(to_fields(request)));
    REQUIRE(fields);
    CHECK(fields->at("command") == "inject");
    const auto back = read_fault_request(*fields);
    REQUIRE(back);
    CHECK(back->kind == request.kind);
    CHECK(back->rank == request.rank);
    CHECK(back->node == request.node);
    CHECK(back->draw == request.draw);
    CHECK(back->duration == request.duration);
    CHECK(back->delay == request.delay);
  }
}

TEST_CASE("a report comes back from its fields as it was") {
  const FaultReport report{base::Rank{0}, "node1", 4242, "SIGKILL"};
  const auto back = read_fault_report(to_fields(report));
  REQUIRE(back);
  CHECK(back->rank == report.rank);
  CHECK(back->node == report.node);
  CHECK(back->pid == report.pid);
  CHECK(back->done == report.done);
  CHECK_FALSE(read_fault_report(to_fields(FaultReport{}))->rank);
}

TEST_CASE("what is not said keeps its default") {
  const auto request = read_fault_request({{"kind", "stop"}});
  REQUIRE(request);
  CHECK_FALSE(request->rank);
  CHECK(request->node.empty());
  CHECK(request->draw == 0);
  CHECK(request->duration == base::Nanos{});
}

TEST_CASE("nonsense is refused in few words, whatever its length") {
  const std::string huge(60'000, '\x01');
  const std::pair<const char*, std::string> rows[] = {
      {"kind", ""},           {"kind", "no-such-kind"},
      {"kind", huge},         {"rank", "-1"},
      {"rank", "4294967296"}, {"rank", "x"},
      {"rank", ""},           {"rank", huge},
      {"draw", "-1"},         {"draw", "99999999999999999999"},
      {"duration_ns", "-1"},  {"duration_ns", "1.5"},
      {"delay_ns", "-1"},     {"delay_ns", std::string(60'000, '9')},
      {"node", huge},
  };
  for (const auto& [name, value] : rows) {
    CAPTURE(name);
    CAPTURE(value.substr(0, 40));
    ControlFields fields = kill_with("draw", "1");
    fields[name] = value;
    const auto request = read_fault_request(fields);
    REQUIRE_FALSE(request);
    CHECK(request.error().code == base::Errc::kInvalidArgument);
    CHECK(request.error().what.size() < 300);
  }
  CHECK_FALSE(read_fault_request({}));
}

// An agent adds it to its clock.
TEST_CASE("a time has an end") {
  const auto with = [](base::Nanos time) {
    return read_fault_request(kill_with("duration_ns", std::to_string(time.count())));
  };
  CHECK(with(kFaultTimeMax));
  CHECK_FALSE(with(kFaultTimeMax + base::Nanos(1)));
  CHECK_FALSE(with(base::Nanos::max()));
}

}  // namespace
}  // namespace robustrun::supervisor::fault_request_test
