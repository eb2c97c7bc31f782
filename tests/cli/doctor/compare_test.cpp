#include "cli/doctor/compare.h"

#include <doctest/doctest.h>

#include <sstream>

namespace robustrun::cli::doctor_compare_test {
namespace {

using State = CheckState;

const Check kKernel{"kernel", State::kOk, "Linux 6.1.0", ""};
const Check kShmFine{"/dev/shm", State::kOk, "30.0 of 31.0 GiB free", "", "about 31 GiB"};
const Check kShmFull{"/dev/shm", State::kBad, "only 8 of 64 MiB free", "remove files"};
const Check kNoSlurm{"Slurm", State::kAbsent, "no srun", ""};
const Check kSlurm{"Slurm", State::kOk, "23.11.4; not within an allocation", ""};
const Check kFewFiles{"open files", State::kWarn, "512", "ulimit -n 4096"};

HostChecks host(const std::string& name, std::vector<Check> checks) {
  return {name, "", std::move(checks)};
}

}  // namespace

TEST_CASE("hosts that are well and alike are two lines") {
  Check other = kShmFine;
  other.found = "12.5 of 31.0 GiB free";
  const std::vector<HostChecks> hosts = {host("n1", {kKernel, kShmFine, kNoSlurm}),
                                         host("n2", {kKernel, other, kNoSlurm})};
  CHECK(survey_text(hosts, 80, false) ==
        "alike and ok: kernel, /dev/shm\n"
        "on no host: Slurm\n"
        "nothing is bad on 2 hosts\n");
}

TEST_CASE("what fails or differs is shown with its hosts, the worst first") {
  Check newer = kKernel;
  newer.found = "Linux 6.12.0";
  const std::vector<HostChecks> hosts = {
      host("n1", {kKernel, kShmFine, kNoSlurm, kFewFiles}),
      host("n2", {newer, kShmFull, kSlurm, kFewFiles}),
      host("n3", {kKernel, kShmFine, kNoSlurm, kFewFiles}),
      {"n4", "cannot connect to port 22: Connection refused", {}},
  };
  CHECK(survey_text(hosts, 80, false) ==
        "ok    kernel            n1,n3: Linux 6.1.0\n"
        "ok                      n2: Linux 6.12.0\n"
        "bad   /dev/shm          n2: only 8 of 64 MiB free\n"
        "                        -> remove files\n"
        "ok                      n1,n3: about 31 GiB\n"
        "ok    Slurm             n2: 23.11.4; not within an allocation\n"
        "-                       n1,n3: none: no srun\n"
        "warn  open files        n[1-3]: 512\n"
        "                        -> ulimit -n 4096\n"
        "bad   no answer         n4: cannot connect to port 22: Connection refused\n"
        "bad: 2 of 4 hosts: n2,n4; warnings on 3 hosts\n");
  CHECK(is_bad(hosts[1]));
  CHECK(is_bad(hosts[3]));
  CHECK_FALSE(is_bad(hosts[0]));
}

TEST_CASE("hosts without an answer for one reason are one line") {
  std::vector<HostChecks> hosts;
  for (int i = 0; i < 500; ++i) hosts.push_back({"n" + std::to_string(i), "no route", {}});
  CHECK(survey_text(hosts, 80, false) ==
        "bad   no answer         all: no route\n"
        "bad: 500 of 500 hosts: n[0-499]\n");
}

TEST_CASE("a check that differs on every host is cut, and lines fit the terminal") {
  std::vector<HostChecks> hosts;
  for (int i = 0; i < 64; ++i) {
    hosts.push_back(host("node" + std::to_string(i),
                         {{"kernel", State::kOk, "Linux " + std::to_string(i * 7), ""}}));
  }
  const std::string text = survey_text(hosts, 60, false);
  CHECK(text.find("56 hosts more differ; --json has all\n") != std::string::npos);
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 60);
  CHECK(count == 10);
}

TEST_CASE("JSON has an object for each host, in their order") {
  const std::vector<HostChecks> hosts = {host("n1", {kShmFull, kFewFiles}),
                                         {"ada@n2:2222", "a \"reason\"", {}}};
  CHECK(survey_json(hosts) ==
        R"([{"host":"n1","bad":1,"warn":1,"checks":[)"
        R"({"name":"/dev/shm","state":"bad","found":"only 8 of 64 MiB free",)"
        R"("advice":"remove files"},)"
        R"({"name":"open files","state":"warn","found":"512","advice":"ulimit -n 4096"}]},)"
        "\n"
        R"({"host":"ada@n2:2222","error":"a \"reason\""}])"
        "\n");
}

}  // namespace robustrun::cli::doctor_compare_test
