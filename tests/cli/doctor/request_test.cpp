#include "cli/doctor/request.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::doctor_request_test {
namespace {

struct Place {
  testing::FakeMachine machine;
  Surroundings around;

  explicit Place(std::vector<std::string> environment) {
    around.machine = &machine;
    around.environment = std::move(environment);
  }
};

}  // namespace

TEST_CASE("a request carries the interpreter that a run from here would use") {
  Place place({"PATH=/usr/bin", "SECRET_TOKEN=x", "NCCL_PROFILER_PLUGIN=inspector"});
  const DoctorRequest request = doctor_request(place.around);
  CHECK(request.environment ==
        std::vector<std::string>{"PYTHON_EXEC=/usr/bin/python3",
                                 "VIRTUAL_ENV=", "NCCL_PROFILER_PLUGIN=inspector"});
  const auto read = read_doctor_request(write_doctor_request(request));
  REQUIRE(read.has_value());
  CHECK(read->build == request.build);
  CHECK(read->environment == request.environment);
}

TEST_CASE("a host looks around with the asker's variables and its own others") {
  Place host({"PATH=/opt/bin", "VIRTUAL_ENV=/home/ada/other", "PYTHON_EXEC=/old"});
  const Surroundings seen =
      looked_around_for({"build", {"PYTHON_EXEC=/usr/bin/python3", "VIRTUAL_ENV="}}, host.around);
  CHECK(seen.variable("PATH") == "/opt/bin");
  CHECK(seen.variable("PYTHON_EXEC") == "/usr/bin/python3");
  CHECK_FALSE(seen.variable("VIRTUAL_ENV").has_value());
}

TEST_CASE("a request that is cut or no request is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "build"sv, "build\0PATH"sv, "build\0PATH\0"sv, "build\0=x\0"sv, "build\0\0"sv}) {
    CHECK_FALSE(read_doctor_request(text).has_value());
  }
  CHECK(read_doctor_request("build\0"sv)->environment.empty());
}

TEST_CASE("an answer holds the checks, and nothing that a terminal would obey") {
  const std::vector<Check> checks = {
      {"memory", CheckState::kOk, "3 of 8 GiB available", "", "about 8 GiB"},
      {"torch", CheckState::kWarn, "not installed for \"python\"", "pip install torch", ""},
      {"munge", CheckState::kAbsent, "no \x1b[31msocket", "", ""},
  };
  const auto read = read_doctor_answer(write_doctor_answer(checks));
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 3);
  CHECK(read->at(0).kind == "about 8 GiB");
  CHECK(read->at(1).state == CheckState::kWarn);
  CHECK(read->at(1).found == checks[1].found);
  CHECK(read->at(1).advice == "pip install torch");
  CHECK(read->at(2).found.find('\x1b') == std::string::npos);
}

TEST_CASE("an answer that is no list of checks is refused") {
  for (const char* text : {"", "{}", "[]", "[1]", R"([{"name":"a"}])",
                           R"([{"name":"a","state":"good"}])", R"([{"state":"ok"}])", "[{]"}) {
    CHECK_FALSE(read_doctor_answer(text).has_value());
  }
  std::string many;
  for (int i = 0; i < 100; ++i) many += R"({"name":"a","state":"ok"},)";
  CHECK_FALSE(read_doctor_answer("[" + many + R"({"name":"a","state":"ok"}])").has_value());
}

}  // namespace robustrun::cli::doctor_request_test
