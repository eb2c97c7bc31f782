#include "launcher/ssh/config_scope.h"

#include <doctest/doctest.h>

#include "launcher/hosts/limits.h"

namespace robustrun::launcher::ssh_config_scope_test {
namespace {

std::optional<SshConfigScope> scope_of(const std::vector<std::string>& texts) {
  return SshConfigScope::of(texts);
}

// Whether node1 and node2 get the same settings from one file with this text.
bool alike(const std::string& text) {
  const auto scope = scope_of({text});
  return scope && scope->alike("node1", "node2");
}

bool understood(const std::string& text) { return scope_of({text}).has_value(); }

}  // namespace

TEST_CASE("settings without patterns are the same for all hosts") {
  for (const char* text :
       {"", "\n\n", "# Host node1\n", "User ada\nPort 22", "Host *\n  User ada\n",
        "\tHOST\t*\t\r\n", "Host=*\n", "Host = *", "Match all\nUser ada\n",
        "Match final all\nUser ada\n", "ControlPath ~/.ssh/%C-%h\n",
        "ProxyCommand ssh -W %h:%p bastion\n", "ProxyJump bastion\n", "User=\"ada\"\n",
        "UserKnownHostsFile ~/Größe\n", "Include other\n"}) {
    CAPTURE(text);
    CHECK(alike(text));
  }
}

TEST_CASE("Host lines tell hosts apart by their patterns alone") {
  CHECK(alike("Host github.com\nHostName ssh.github.com\nUserKnownHostsFile %h\n"));
  CHECK(alike("Host node*\nUser ada\n"));
  CHECK(alike("Host login node? other\n"));
  CHECK(alike("Host !login *\n"));
  CHECK(alike("Host unix/* vsock/* machine/*\n"));
  CHECK(alike("Host MyServer\nHostName 10.0.0.1\n"));
  CHECK_FALSE(alike("Host node1\n"));
  CHECK_FALSE(alike("Host *1\n"));
  CHECK_FALSE(alike("Host * !node2\n"));
  CHECK_FALSE(alike("Host login\nUser x\nhost=node2\n"));
  CHECK_FALSE(alike("Host NODE1\n"));
  CHECK_FALSE(alike("Host NODE1 node2\n"));
  const auto scope = scope_of({"Host node1\nUser a\n", "Host gpu? *.local\n"}).value();
  CHECK(scope.alike("node2", "node3"));
  CHECK_FALSE(scope.alike("node2", "node1"));
  CHECK_FALSE(scope.alike("gpu1", "node2"));
  CHECK(scope.alike("gpu1", "gpu2"));
  CHECK(scope.alike("a.local", "gpu1") == scope.alike("gpu1", "a.local"));
}

TEST_CASE("a line that depends on the name makes its hosts separate cases") {
  for (const std::string line :
       {"HostName node1", "hostname=10.0.0.1", "HostName %h.cluster", "IdentityFile ~/.ssh/%h",
        "UserKnownHostsFile ~/%C", "User %n", "Include %h.conf", "ProxyJump %h"}) {
    CAPTURE(line);
    CHECK_FALSE(alike(line));
    CHECK_FALSE(alike("Host *\n" + line));
    CHECK_FALSE(alike("Host node*\n" + line));
    CHECK_FALSE(alike("Host login\nUser x\nMatch all\n" + line));
    CHECK_FALSE(alike("Host NODE*\n" + line));
    CHECK(alike("Host login\n" + line));
    CHECK(alike(line + "\n") == false);
    // At the head of an included file, whose block is not known.
    CHECK_FALSE(scope_of({"Host login\nInclude other\n", line})->alike("node1", "node2"));
  }
}

TEST_CASE("what only ssh can decide is left to it") {
  for (const std::string text : {"Match host node1\n",
                                 "Match exec true\n",
                                 "Match user ada\n",
                                 "Match canonical all\n",
                                 "Match !all\n",
                                 "Match\n",
                                 "Match ALL\n",
                                 "Host\n",
                                 "Host \"*\"\n",
                                 "\"Host\" *\n",
                                 "Host * # all\n",
                                 "Host a=b\n",
                                 "Host == *\n",
                                 "Host \\*\n",
                                 "Host !\n",
                                 "Host !Node1 *\n",
                                 "=Host *\n",
                                 "Host\"x\"\n",
                                 "Host\x0b*\n",
                                 "\x0bHost *\n",
                                 "\rHost *\n",
                                 "Ho\rst *\n",
                                 "Host [a-z]\n",
                                 "Host n\xc3\xb6\n",
                                 "{\n",
                                 "Host,node1\n"}) {
    CAPTURE(text);
    CHECK_FALSE(understood(text));
  }
  CHECK_FALSE(scope_of({"Host *\n", "Match exec true\n"}));
}

TEST_CASE("a configuration beyond the bounds is left to ssh") {
  CHECK(understood("#" + std::string(kSshConfigLineBytesMax - 1, 'x')));
  CHECK_FALSE(understood("#" + std::string(kSshConfigLineBytesMax, 'x')));
  std::string many;
  for (std::size_t i = 0; i < kSshConfigPatternsMax; ++i) many += "Host x\n";
  CHECK(understood(many));
  CHECK_FALSE(understood(many + "Host x\n"));
  CHECK_FALSE(scope_of({many, "Host x\n"}));
}

TEST_CASE("names that ssh rewrites are separate cases") {
  for (const char* name : {"node1", "a", "a-b_c.example.org", "10.0.0.1", "255.255.255.255"}) {
    CAPTURE(name);
    CHECK(is_plain_host_name(name));
  }
  for (const std::string name :
       {"", "Node1", "nodeA", "127.1", "010.0.0.1", "10.0.0.01", "0x7f000001", "1", "1node", "::1",
        "[::1]", "a@b", "ssh://a", "-oX", "a b", "a%b", "a:22", "\xc3\xb6"}) {
    CAPTURE(name);
    CHECK_FALSE(is_plain_host_name(name));
  }
  CHECK_FALSE(is_plain_host_name(std::string(kHostNameBytesMax + 1, 'a')));
  const auto scope = scope_of({""}).value();
  CHECK(scope.alike("10.0.0.1", "node1"));
  CHECK_FALSE(scope.alike("node1", "Node2"));
  CHECK_FALSE(scope.alike("127.1", "node2"));
}

}  // namespace robustrun::launcher::ssh_config_scope_test
