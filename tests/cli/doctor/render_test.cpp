#include "cli/doctor/render.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

namespace robustrun::cli::doctor_render_test {
namespace {

const std::vector<Check> kChecks = {
    {"kernel", CheckState::kOk, "Linux 6.1.0", ""},
    {"open files", CheckState::kWarn, "512 (hard limit 4096): for jobs of up to 128 ranks",
     "ulimit -n 4096"},
    {"/dev/shm", CheckState::kBad, "only 8 of 64 MiB free; NCCL and data loaders need more",
     "as root: mount -o remount,size=50% /dev/shm; docker run --shm-size=8g"},
    {"Slurm", CheckState::kAbsent, "no srun", ""},
    {"munge", CheckState::kAbsent, "no socket", ""},
};

}  // namespace

TEST_CASE("a line for each check, advice below it, the absent at the end") {
  CHECK(doctor_text(kChecks, 80, false) ==
        "ok    kernel            Linux 6.1.0\n"
        "warn  open files        512 (hard limit 4096): for jobs of up to 128 ranks\n"
        "                        -> ulimit -n 4096\n"
        "bad   /dev/shm          only 8 of 64 MiB free; NCCL and data loaders need more\n"
        "                        -> as root: mount -o remount,size=50% /dev/shm; docker\n"
        "                           run --shm-size=8g\n"
        "not here: Slurm, munge\n"
        "bad: 1; 1 warning\n");
}

TEST_CASE("colours change no text") {
  std::string text = doctor_text(kChecks, 80, true);
  for (std::size_t at; (at = text.find('\x1b')) != std::string::npos;) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  CHECK(text == doctor_text(kChecks, 80, false));
}

TEST_CASE("nothing is bad on a machine where all is well") {
  CHECK(doctor_text(std::span(kChecks).first(1), 80, false).ends_with("\nnothing is bad\n"));
}

TEST_CASE("JSON has every check, also what is absent") {
  const std::string text = doctor_json("node\"7", kChecks);
  CHECK(text.starts_with(R"({"host":"node\"7","bad":1,"warn":1,"checks":[{"name":"kernel",)"));
  CHECK(text.find(R"({"name":"munge","state":"absent","found":"no socket","advice":""}]})") !=
        std::string::npos);
}

TEST_CASE("rules have names of their own, and bare facts break none of them") {
  std::set<std::string> names;
  for (const Check& check : check_all(Facts{})) {
    INFO(check.name);
    CHECK(names.insert(check.name).second);
    CHECK(check.name.size() <= 16);
    CHECK_FALSE(check.found.empty());
    if (check.state == CheckState::kAbsent) CHECK(check.advice.empty());
    const bool needs_advice = check.state == CheckState::kWarn || check.state == CheckState::kBad;
    CHECK(needs_advice == !check.advice.empty());
  }
  CHECK(names.size() == check_rules().size());
  std::istringstream lines(doctor_text(check_all(Facts{}), 80, false));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

}  // namespace robustrun::cli::doctor_render_test
