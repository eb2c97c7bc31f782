// Short commands on hosts, over a real sshd: both transports pass the same cases. The fake agent
// swallows the first line of its input and prints the rest.

#include "launcher/ssh/errand.h"

#include "tests/launcher/ssh_rig.h"

namespace robustrun::test::ssh_errand_test {
namespace {

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

struct OverLibssh2 {
  static constexpr auto kTransport = launcher::SshTransport::kLibssh2;
};
struct OverOpenSsh {
  static constexpr auto kTransport = launcher::SshTransport::kOpenSsh;
};
#define RR_BOTH_TRANSPORTS OverLibssh2, OverOpenSsh

using Ends = std::vector<std::optional<launcher::SshErrandEnd>>;

// Runs the errand on `hosts` of the rig, and on one more host at `closed_port` if that is not 0.
Ends run_errand(SshRig& rig, launcher::SshErrand errand, std::size_t hosts = 1,
                std::uint16_t closed_port = 0) {
  std::vector<launcher::Host> list;
  for (std::size_t i = 0; i < hosts; ++i) {
    list.push_back({.name = SshRig::address(i), .user = {}, .port = rig.port});
  }
  if (closed_port != 0) list.push_back({.name = "127.0.0.1", .user = {}, .port = closed_port});
  Ends ends(list.size());
  std::size_t waiting = list.size();
  const auto errands = launcher::SshErrands::start(
      rig.loop.executor(), rig.pool, list, rig.options, std::move(errand),
      [&](std::size_t host, const launcher::SshErrandEnd& end) {
        CHECK(!ends[host]);
        ends[host] = end;
        --waiting;
      });
  REQUIRE(rig.wait([&] { return waiting == 0; }));
  return ends;
}

launcher::SshErrand errand(const std::string& input) {
  return {.arguments = "agent --doctor",
          .input = input,
          .limit = std::chrono::seconds(20),
          .output_max = 1000};
}

}  // namespace

TEST_CASE_TEMPLATE("an errand gets its input, and its output comes back from each host", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Ends ends = run_errand(rig, errand(std::string("request\nan\0swer\n", 16)), 3);
  for (std::uint32_t host = 0; host < 3; ++host) {
    INFO(ends[host]->why);
    CHECK(ends[host]->why.empty());
    CHECK(ends[host]->output == std::string("an\0swer\n", 8));
    CHECK(has(read_text(rig.out(host, "argv")), "agent --doctor"));
  }
}

TEST_CASE_TEMPLATE("an errand's output ends at its limit", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Ends ends = run_errand(rig, errand("request\n" + std::string(5000, 'x')));
  CHECK(ends[0]->why.empty());
  CHECK(ends[0]->output == std::string(1000, 'x'));
}

TEST_CASE_TEMPLATE("a host without the build gets it for an errand", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport, {.install = false});
  const Ends ends = run_errand(rig, errand("request\nanswer"));
  INFO(ends[0]->why);
  CHECK(ends[0]->output == "answer");
  CHECK(has(read_text(rig.out(0, "argv")), ".cache/robustrun/"));
}

TEST_CASE_TEMPLATE("a build that fails at our path is replaced; if this one fails, why is reported",
                   Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Ends ends = run_errand(rig, errand("exit 7\n"));
  INFO(ends[0]->why);
  CHECK(has(ends[0]->why, "robustrun failed there: exit code 7 (it went wrong)"));
  CHECK(has(read_text(rig.out(0, "argv")), ".cache/robustrun/"));
}

TEST_CASE_TEMPLATE("hosts that refuse or hang do not delay the others", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const HeldPort closed;
  const Ends ends = run_errand(rig, errand("request\nanswer"), 2, closed.port);
  CHECK(ends[0]->output == "answer");
  CHECK(ends[1]->output == "answer");
  INFO(ends[2]->why);
  CHECK(has(ends[2]->why, "refused"));
  CHECK(!has(ends[2]->why, "agent"));

  launcher::SshErrand endless = errand("stay\n");
  endless.limit = std::chrono::milliseconds(300);
  CHECK(run_errand(rig, endless)[0]->why == "no answer within 0.3 s");
}

}  // namespace robustrun::test::ssh_errand_test
