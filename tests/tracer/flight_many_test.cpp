// The largest possible dump, by a malicious worker: it must not delay the others.
#include <doctest/doctest.h>

#include "tests/support/sanitized.h"
#include "tracer/flight_memberships.h"
#include "tracer/limits.h"

namespace flight_many_test {

using namespace robustrun;

TEST_CASE("the maximum of groups, and even more streams, are processed in time" *
          doctest::skip(test::kSanitized)) {
  constexpr std::size_t kStreams = tracer::kFlightEntriesMax / 4;
  std::string entries;
  for (std::size_t i = 0; i < kStreams; ++i) {
    entries += (i > 0 ? R"(,{"pg_id":)" : R"({"pg_id":)") + std::to_string(i + 1) +
               R"(,"process_group":["s)" + std::to_string(i) + R"(","a"],"collective_seq_id":1})";
  }
  std::string groups = R"("u":{"ranks":"[0]"})";
  std::string status = R"("0":{"last_enqueued_collective":7,"last_completed_collective":6})";
  for (std::size_t i = 1; i < tracer::kFlightGroupsMax; ++i) {
    groups += R"(,"s)" + std::to_string(i) + R"(":{"ranks":"[0]"})";
    status += R"(,")" + std::to_string(i) + R"(":{})";
  }
  const auto read = tracer::read_flight_recording(R"({"version":"2.10","pg_config":{)" + groups +
                                                  R"(},"pg_status":{)" + status +
                                                  R"(},"entries":[)" + entries + "]}");
  REQUIRE(read);
  const auto found = tracer::memberships(*read, {}, 0, 0);
  REQUIRE(found.size() == kStreams + 1);
  CHECK(found.back().name == "u");
  CHECK(found.back().entered == 7);
}

}  // namespace flight_many_test
