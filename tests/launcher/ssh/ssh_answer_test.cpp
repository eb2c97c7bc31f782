// One `ssh -G` for many hosts, against the real client.

#include "launcher/ssh/answer.h"

#include <algorithm>

#include "base/core/clock.h"
#include "launcher/limits.h"
#include "launcher/ssh/context.h"
#include "tests/launcher/ssh_tools.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::test::ssh_answer_test {
namespace {

using launcher::Host;
using launcher::SshAnswer;
using launcher::SshSettings;
using launcher::SshTarget;

SshSettings settings_in(const std::string& text) {
  return launcher::parse_ssh_settings(text, "/home/ada", "ada").value();
}

// Reads targets for the test's own configuration, with a client that counts its runs.
struct Rig {
  ScratchFolder folder;
  Loop loop;
  base::BlockingPool pool{loop.executor(), 4, 256};
  std::shared_ptr<launcher::SshContext> context;
  std::vector<base::Result<SshTarget>> targets;

  explicit Rig(const std::string& config, const std::string& client = {}) {
    launcher::SshOptions options;
    options.home = folder.path();
    options.executable = folder / "robustrun";
    options.ssh_command = {client.empty() ? counter() : client, "-F",
                           folder.write("config", config)};
    context = std::make_shared<launcher::SshContext>(loop.executor(), pool, options);
  }
  [[nodiscard]] std::string counter() const {
    std::filesystem::create_symlink(test_helper("ssh_counter"), folder / "ssh");
    return folder / "ssh";
  }

  // All at once, in this order.
  void read(const std::vector<Host>& hosts) {
    targets.assign(hosts.size(), base::fail(base::Errc::kTimeout, "not read"));
    std::size_t read = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      auto host = std::make_shared<launcher::SshHost>();
      host->host = hosts[i];
      host->lane = static_cast<base::BlockingPool::Lane>(i % 4);
      context->read_target(std::move(host), [this, i, &read](base::Result<SshTarget> target) {
        targets[i] = std::move(target);
        ++read;
      });
    }
    REQUIRE(loop.run_until([&] { return read == hosts.size(); }));
  }
  // Compares each with the answer for that host alone.
  void check_truth(const std::vector<Host>& hosts) const {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      CAPTURE(hosts[i].name);
      REQUIRE(targets[i]);
      const auto alone = launcher::make_ssh_target(hosts[i], context->options,
                                                   {tool("ssh"), "-F", folder / "config"}, nullptr);
      CHECK(targets[i]->settings == alone->settings);
      CHECK(targets[i]->known_name == alone->known_name);
    }
  }
  [[nodiscard]] std::size_t runs() const {
    return count_of(" -G ", read_text(folder / "ssh.runs"));
  }
};

std::vector<Host> loopback(int count) {
  std::vector<Host> hosts;
  for (int i = 1; i <= count; ++i) {
    hosts.push_back({.name = "127.0.2." + std::to_string(i), .user = {}});
  }
  return hosts;
}

TEST_CASE("one query serves all hosts of a configuration that treats them alike") {
  Rig rig("Host github.com\n  User git\nHost 127.*\n  User ada\n  ControlPath ~/%C\n");
  const auto hosts = loopback(64);
  rig.read(hosts);
  CHECK(rig.runs() == 1);
  rig.check_truth(hosts);
  CHECK(rig.targets[63]->settings.user == "ada");
  CHECK(rig.targets[63]->settings.hostname == "127.0.2.64");
  CHECK(rig.targets[63]->addresses == std::vector<std::string>{"127.0.2.64"});
}

TEST_CASE("a host that the configuration treats differently gets its own query") {
  Rig rig("Host 127.0.2.3\n  Port 2200\n  HostName 127.0.9.9\nHost *\n  User ada\n");
  const auto hosts = loopback(12);
  rig.read(hosts);
  CHECK(rig.runs() == 2);
  rig.check_truth(hosts);
  CHECK(rig.targets[2]->settings.port == 2200);
  CHECK(rig.targets[3]->settings.port == 22);
}

TEST_CASE("a configuration that is not understood is queried for each host") {
  for (const char* config : {"Match host 127.0.2.3\n  Port 2200\n", "HostName %h\n",
                             "UserKnownHostsFile ~/%C\n", "Host \"*\"\n  User ada\n"}) {
    CAPTURE(config);
    Rig rig(config);
    const auto hosts = loopback(6);
    rig.read(hosts);
    CHECK(rig.runs() >= hosts.size());
    rig.check_truth(hosts);
  }
}

TEST_CASE("other users, ports and spellings of an address are separate queries") {
  Rig rig("Host *\n  Port 2200\n");
  const std::vector<Host> hosts = {{.name = "127.0.2.1", .user = {}},
                                   {.name = "127.0.2.2", .user = {}},
                                   {.name = "127.0.2.1", .user = "ada"},
                                   {.name = "127.0.2.2", .user = "ada"},
                                   {.name = "127.0.2.3", .user = {}, .port = 22},
                                   {.name = "127.2", .user = {}},
                                   {.name = "[::1]", .user = {}}};
  rig.read(hosts);
  CHECK(rig.runs() == 5);
  rig.check_truth(hosts);
}

TEST_CASE("later requests see an edited configuration") {
  Rig rig("Host *\n  Port 2200\n");
  rig.read(loopback(3));
  rig.folder.write("config", "Host *\n  Port 2201\n");
  rig.read(loopback(3));
  CHECK(rig.runs() == 2);
  for (const auto& target : rig.targets) CHECK(target->settings.port == 2201);
}

TEST_CASE("a client's failure is reported for each host, in the client's words") {
  Rig rig("Bananas yes\n");
  rig.read(loopback(3));
  CHECK(rig.runs() == 3);
  for (const auto& target : rig.targets) {
    REQUIRE(!target);
    INFO(target.error().what);
    CHECK(target.error().what.find("line 1: Bad configuration option: bananas") !=
          std::string::npos);
    CHECK(target.error().what.find("debug1") == std::string::npos);
  }
}

TEST_CASE("a client with unknown behaviour is queried for each host") {
  const ScratchFolder folder;
  const std::string config = folder.write("config", "Host *\n  User ada\n");
  const std::string script = folder.write("ssh", "#!/bin/sh\nexec ssh \"$@\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Host host{.name = "node1", .user = {}};
  const auto has_scope = [&](const std::vector<std::string>& client) {
    return launcher::ask_ssh(client, host).value().scope.has_value();
  };
  const std::string ssh = tool("ssh");
  CHECK(has_scope({ssh, "-F", config}));
  CHECK(has_scope({ssh, "-F", "/dev/null"}));
  CHECK(has_scope({ssh, "-F", "none"}));
  CHECK_FALSE(has_scope({script, "-F", config}));
  CHECK_FALSE(has_scope({ssh, "-F", config, "-oHostName=node7"}));
  CHECK_FALSE(has_scope({ssh, "-F", config, "-o", "UserKnownHostsFile=~/%C"}));
  CHECK_FALSE(has_scope({ssh, "-F", config, "-E", folder / "log"}));
  CHECK_FALSE(has_scope({ssh, "-F", folder.write(std::string(200, 'x') + "/config", "")}));
}

TEST_CASE("an answer that contains a name, or depends on name look-up, serves only its host") {
  const SshAnswer plain{.asked = {.name = "node1", .user = {}},
                        .text =
                            "host node1\nhostname node1\ncanonicalizehostname false\n"
                            "controlpath /tmp/node1\nuser ada\n",
                        .scope = launcher::SshConfigScope::of({})};
  const Host other{.name = "node2", .user = {}};
  REQUIRE(plain.text_for(other));
  CHECK(settings_in(*plain.text_for(other)).hostname == "node2");
  CHECK_FALSE(plain.text_for({.name = "node1", .user = "ada"}));
  CHECK_FALSE(plain.text_for({.name = "node2", .user = {}, .port = 22}));
  const auto serves = [&](const std::string& text) {
    SshAnswer answer = plain;
    answer.text = text;
    CHECK(answer.text_for(answer.asked) == text);
    return answer.text_for(other).has_value();
  };
  CHECK(serves(plain.text));
  CHECK_FALSE(serves(plain.text + "userknownhostsfile /kh.node1\n"));
  CHECK_FALSE(serves(plain.text + "proxyjump node2\n"));
  CHECK_FALSE(serves(plain.text + "CanonicalizePermittedcnames *:*\n"));
  CHECK(serves(plain.text + "canonicalizePermittedcnames none\n"));
  CHECK_FALSE(serves("hostname node1\ncanonicalizehostname true\n"));
  CHECK_FALSE(serves("hostname node1\n"));
  CHECK_FALSE(serves("canonicalizehostname false\n"));
  CHECK_FALSE(serves("hostname 10.0.0.1\ncanonicalizehostname false\n"));
}

// Lines from which configurations are composed.
std::vector<std::string> some_lines(const std::string& folder) {
  return {"Host *",
          "Host node*",
          "Host node1",
          "Host * !node2",
          "Host NODE1 x*",
          "host=node2",
          "Match all",
          "Match final all",
          "Match host node3",
          "Match originalhost node2",
          "HostName 10.0.0.9",
          "HostName %h.cluster",
          "HostName node1",
          "User ada",
          "User bob",
          "Port 2200",
          "  Port=2201",
          "IdentityFile ~/.ssh/%h_key",
          "IdentityFile /k",
          "UserKnownHostsFile ~/kh.%C",
          "UserKnownHostsFile ~/kh",
          "HostKeyAlias cluster",
          "ControlPath ~/cm-%C",
          "ProxyJump bastion",
          "ProxyCommand ssh -W %h:%p b",
          "# a comment",
          "IdentitiesOnly yes",
          "Include " + folder + "/more*.conf",
          "Host \"node*\"",
          "Host node? # mine",
          "StrictHostKeyChecking accept-new",
          "\tHost\tnode2 node3\t"};
}

// For any configuration: an answer that is reused for another host equals ssh's own answer for it.
TEST_CASE("a reused answer equals ssh's own for that host") {
  const std::uint64_t seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  const ScratchFolder folder;
  const std::vector<std::string> lines = some_lines(folder.path());
  const auto text = [&](std::uint64_t count) {
    std::string out;
    for (std::uint64_t i = 0; i < count; ++i) out += lines[rng.below(lines.size())] + '\n';
    return out;
  };
  const std::vector<Host> hosts = {{.name = "node1", .user = {}},
                                   {.name = "node2", .user = {}},
                                   {.name = "node3", .user = {}},
                                   {.name = "x7", .user = {}}};
  std::size_t served = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string config = text(1 + rng.below(6));
    const std::string more = text(rng.below(3));
    CAPTURE(config);
    CAPTURE(more);
    folder.write("more1.conf", more);
    const std::vector<std::string> client = {tool("ssh"), "-F", folder.write("config", config)};
    std::vector<base::Result<SshAnswer>> answers;
    for (const Host& host : hosts) answers.push_back(launcher::ask_ssh(client, host));
    for (const auto& answer : answers) {
      if (!answer) continue;  // an Include of itself, perhaps
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        const auto taken = answer->text_for(hosts[i]);
        if (!taken || hosts[i].name == answer->asked.name) continue;
        ++served;
        REQUIRE(answers[i]);
        CAPTURE(answer->asked.name);
        CAPTURE(hosts[i].name);
        CHECK(settings_in(*taken) == settings_in(answers[i]->text));
      }
    }
  }
  CHECK(served > 0);
}

}  // namespace
}  // namespace robustrun::test::ssh_answer_test
