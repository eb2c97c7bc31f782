// Agents over a real sshd: both transports pass the same cases.

#include "launcher/ssh/launcher.h"

#include <boost/asio/ip/tcp.hpp>

#include "tests/launcher/ssh_rig.h"

namespace robustrun::test::ssh_launcher_test {
namespace {

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return std::atoi(stat.c_str() + std::min(stat.rfind(')') + 4, stat.size()));
}

bool is_gone(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() || stat[stat.rfind(')') + 2] == 'Z';
}

struct OverLibssh2 {
  static constexpr auto kTransport = launcher::SshTransport::kLibssh2;
};
struct OverOpenSsh {
  static constexpr auto kTransport = launcher::SshTransport::kOpenSsh;
};
#define RR_BOTH_TRANSPORTS OverLibssh2, OverOpenSsh

TEST_CASE_TEMPLATE("an agent gets its credential on its standard input and nowhere else", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started() || agent->end; }));
  if (agent->end) FAIL(agent->end->why);
  CHECK(read_text(rig.out(0, "credential")) == "secret-credential wait\n");
  CHECK(has(read_text(rig.out(0, "argv")), "agent --stdin-credential"));
  CHECK(!has(read_text(rig.out(0, "argv")), "secret"));
  CHECK(!has(read_text(rig.out(0, "environment")), "secret"));
  CHECK(!rig.launcher->idle());
}

TEST_CASE_TEMPLATE("the end of an agent is reported with its code and first output", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto agent = rig.launch("exit 7");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "exit code 7 (it went wrong)"));
  CHECK(has(agent->end->why, "127.0.1.1"));
  CHECK(agent->end->node_answers);
  CHECK(rig.launcher->idle());
}

TEST_CASE_TEMPLATE("an agent killed on its host is lost, its machine is not", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started(); }));
  ::kill(rig.remote_pid(), SIGKILL);
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "ended"));
  CHECK(agent->end->node_answers);
}

TEST_CASE_TEMPLATE("a broken connection is reported, and whether the machine still answers", Over,
                   RR_BOTH_TRANSPORTS) {
  for (const bool answers : {true, false}) {
    SshRig rig(Over::kTransport);
    const auto agent = rig.launch("wait");
    REQUIRE(rig.wait([&] { return rig.started(); }));
    if (!answers) rig.end("sshd");
    ::kill(parent_of(rig.remote_pid()), SIGKILL);  // the session's sshd
    REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
    INFO(agent->end->why);
    CHECK(has(agent->end->why, "SSH session"));
    CHECK(agent->end->node_answers == answers);
  }
}

TEST_CASE_TEMPLATE("an unknown host key is refused with its fingerprint and advice", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  rig.trust_nobody();
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  const std::string listed = run({"ssh-keygen", "-lf", rig.folder / "host_key.pub"});
  const std::string fingerprint = listed.substr(listed.find("SHA256:"), 50);
  CHECK(has(agent->end->why, fingerprint));
  CHECK(has(agent->end->why, "known_hosts"));
  CHECK(has(agent->end->why, "'ssh"));
  CHECK(agent->end->lasting.starts_with("its host key is "));  // the same for every host
  CHECK(!rig.started());
}

TEST_CASE_TEMPLATE("a changed host key is refused", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  rig.trust_nobody();
  rig.make_key("other_key", "ed25519");
  rig.trust("127.0.1.1", "other_key");
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "changed"));
  CHECK(has(agent->end->why, "SHA256:"));
  CHECK(has(agent->end->why, "ssh-keygen -R"));
  CHECK(!rig.started());
}

TEST_CASE_TEMPLATE("hashed known hosts are understood", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  rig.trust_nobody();
  rig.trust("127.0.1.1", "host_key");
  run({"ssh-keygen", "-q", "-H", "-f", rig.folder / "known_hosts"});
  REQUIRE(has(read_text(rig.folder / "known_hosts"), "|1|"));
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started() || agent->end; }));
  CHECK(rig.started());
}

TEST_CASE_TEMPLATE("a new host key is stored if the configuration allows it", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport, {.client_config = "StrictHostKeyChecking accept-new\n"
                                                 "HashKnownHosts no\n"});
  rig.trust_nobody();
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started() || agent->end; }));
  CHECK(rig.wait(
      [&] { return has(read_text(rig.folder / "known_hosts"), rig.public_key("host_key")); }));
}

TEST_CASE_TEMPLATE("a key that the server rejects is an error in words", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  rig.make_key("other_key", "ed25519");
  std::filesystem::copy_file(rig.folder / "other_key.pub", rig.folder / "authorized_keys",
                             std::filesystem::copy_options::overwrite_existing);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "accepts no key of ours"));
  CHECK(agent->end->node_answers);
}

TEST_CASE_TEMPLATE("without a listener the machine does not answer", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const HeldPort held;
  rig.make_launcher(1, held.port);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "onnection refused"));
  CHECK(!agent->end->node_answers);
  std::optional<bool> answers;
  rig.launcher->probe(base::NodeId{0}, [&](bool yes) { answers = yes; });
  REQUIRE(rig.wait([&] { return answers.has_value(); }));
  CHECK(!*answers);
}

TEST_CASE_TEMPLATE("a port that accepts connections and stays silent fails at the deadline", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Listener silent;
  rig.options.start_timeout = std::chrono::seconds(1);
  rig.make_launcher(1, silent.port);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  // The OpenSSH client is ended if its own time limit is late.
  CHECK((has(agent->end->why, "does not speak SSH") || has(agent->end->why, "timed out") ||
         has(agent->end->why, "did not start the agent within 1 s")));
}

TEST_CASE_TEMPLATE("a host that stays silent is named within 2 s, before its time is over", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Listener silent;
  rig.options.start_timeout = std::chrono::seconds(3);
  rig.make_launcher(1, silent.port);
  const CapturedLog log;
  const auto began = std::chrono::steady_clock::now();
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return has(log.text(), "no answer over SSH yet") || agent->end; }));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
  INFO(log.text());
  CHECK(has(log.text(), "waiting for at most 3 s"));
  CHECK_FALSE(agent->end);
}

// Accepts connections and closes them at once.
class Dropper {
 public:
  explicit Dropper(const boost::asio::any_io_executor& executor)
      : acceptor_(executor, {boost::asio::ip::address_v4::any(), 0}) {
    drop_next();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void drop_next() {
    acceptor_.async_accept([this](boost::system::error_code error, boost::asio::ip::tcp::socket) {
      if (!error) drop_next();
    });
  }
  boost::asio::ip::tcp::acceptor acceptor_;
};

TEST_CASE_TEMPLATE("all tries of a server that drops every connection have one time limit", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const Dropper dropper(rig.loop.executor());
  rig.options.start_timeout = std::chrono::seconds(1);
  rig.make_launcher(1, dropper.port());
  const auto began = std::chrono::steady_clock::now();
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "tried "));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(8));
}

TEST_CASE_TEMPLATE("a name without an address is reported", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport, {.client_config = "HostName nowhere.invalid\n"});
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "nowhere.invalid"));
  CHECK(!agent->end->node_answers);
}

TEST_CASE_TEMPLATE("a new generation starts once the old agent is dead", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto old_agent = rig.launch("stay");
  REQUIRE(rig.wait([&] { return rig.started(); }));
  const pid_t old_pid = rig.remote_pid();
  std::filesystem::remove(rig.out(0, "credential"));
  const auto new_agent = rig.launch("wait", 0, 1);
  REQUIRE(rig.wait([&] { return rig.started() || new_agent->end; }));
  if (new_agent->end) FAIL(new_agent->end->why);
  CHECK(is_gone(old_pid));
  CHECK(!old_agent->end);  // its end is not reported any more
}

TEST_CASE_TEMPLATE("kill_all ends agents that keep running", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  rig.make_launcher(3);
  std::vector<std::shared_ptr<SshRig::Agent>> agents;
  for (std::uint32_t node = 0; node < 3; ++node) agents.push_back(rig.launch("stay", node));
  REQUIRE(rig.wait([&] { return rig.started(0) && rig.started(1) && rig.started(2); }));
  rig.launcher->kill_all();
  REQUIRE(rig.wait([&] { return rig.launcher->idle(); }));
  for (std::uint32_t node = 0; node < 3; ++node) {
    CHECK(agents[node]->end.has_value());
    CHECK(is_gone(rig.remote_pid(node)));
  }
}

TEST_CASE_TEMPLATE("a machine with an sshd answers a probe", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started(); }));
  std::optional<bool> answers;
  rig.launcher->probe(base::NodeId{0}, [&](bool yes) { answers = yes; });
  REQUIRE(rig.wait([&] { return answers.has_value(); }));
  CHECK(*answers);
}

TEST_CASE_TEMPLATE("64 hosts get through a server that drops connections (MaxStartups 10:30:100)",
                   Over, RR_BOTH_TRANSPORTS) {
  constexpr std::uint32_t kHosts = 64;
  SshRig rig(Over::kTransport, {.server_config = "MaxStartups 10:30:100\n"});
  rig.options.start_timeout = std::chrono::minutes(5);  // on a busy machine
  rig.make_launcher(kHosts);
  std::vector<std::shared_ptr<SshRig::Agent>> agents;
  for (std::uint32_t node = 0; node < kHosts; ++node) agents.push_back(rig.launch("wait", node));
  REQUIRE(rig.loop.run_until(
      [&] {
        for (std::uint32_t node = 0; node < kHosts; ++node) {
          if (agents[node]->end) FAIL(agents[node]->end->why);
          if (!rig.started(node)) return false;
        }
        return true;
      },
      std::chrono::seconds(60)));
}

}  // namespace
}  // namespace robustrun::test::ssh_launcher_test
