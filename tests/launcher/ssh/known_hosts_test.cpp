#include "launcher/ssh/known_hosts.h"

#include <doctest/doctest.h>

#include "launcher/ssh_encoding.h"

namespace robustrun::test::known_hosts_test {
namespace {

using launcher::find_known_keys;
using launcher::HostKeyVerdict;
using launcher::judge_host_key;
using launcher::KnownKey;

std::string line(const std::string& names, const std::string& blob,
                 const std::string& type = "ssh-ed25519") {
  return names + " " + type + " " + launcher::encode_base64(blob) + " a comment\n";
}

std::size_t found(const std::string& text, const std::string& name) {
  return find_known_keys(text, "file", name).size();
}

TEST_CASE("a host is listed by its name, with its port unless that is 22") {
  CHECK(launcher::known_host_name("Node1", 22) == "node1");
  CHECK(launcher::known_host_name("node1", 2222) == "[node1]:2222");
  CHECK(launcher::known_host_name("::1", 2222) == "[::1]:2222");
}

TEST_CASE("lines apply to the hosts that their patterns match") {
  CHECK(found(line("node1,node2", "key"), "node2") == 1);
  CHECK(found(line("node1", "key"), "node11") == 0);
  CHECK(found(line("NODE1", "key"), "node1") == 1);
  CHECK(found(line("node*", "key"), "node17") == 1);
  CHECK(found(line("node?", "key"), "node17") == 0);
  CHECK(found(line("*.example.org,!bad.example.org", "key"), "good.example.org") == 1);
  CHECK(found(line("*.example.org,!bad.example.org", "key"), "bad.example.org") == 0);
  CHECK(found(line("[node1]:2222", "key"), "[node1]:2222") == 1);
  CHECK(found(line("node1", "key"), "[node1]:2222") == 0);
  CHECK(found(line("*a*b*c*d*", "key"), std::string(2000, 'a')) == 0);
}

// HMAC-SHA1 of "192.168.1.61" with the salt in the middle field.
TEST_CASE("hashed names are matched") {
  const std::string names = "|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg=";
  CHECK(found(line(names, "key"), "192.168.1.61") == 1);
  CHECK(found(line(names, "key"), "192.168.1.62") == 0);
  CHECK(found(line("|1|short|AAAA", "key"), "192.168.1.61") == 0);
  CHECK(found(line("|2|unknown", "key"), "|2|unknown") == 0);
}

TEST_CASE("an unreadable line grants no trust") {
  CHECK(found("", "node1") == 0);
  CHECK(found("# node1 ssh-ed25519 AAAA\n", "node1") == 0);
  CHECK(found("node1 ssh-ed25519\n", "node1") == 0);
  CHECK(found("node1 ssh-ed25519 %%%\n", "node1") == 0);
  CHECK(found("@new-mark node1 ssh-ed25519 AAAA\n", "node1") == 0);
  CHECK(found(std::string(100'000, ' '), "node1") == 0);
}

TEST_CASE("file and line of a key are remembered") {
  const auto keys = find_known_keys("# first\n\n" + line("node1", "key"), "/a/file", "node1");
  REQUIRE(keys.size() == 1);
  CHECK(keys[0].file == "/a/file");
  CHECK(keys[0].line == 3);
  CHECK(keys[0].type == "ssh-ed25519");
  CHECK(keys[0].blob == "key");
}

TEST_CASE("a key is trusted, unknown, changed, revoked or left to a CA") {
  const auto verdict = [](const std::string& text) {
    return judge_host_key(find_known_keys(text, "file", "node1"), "key").verdict;
  };
  CHECK(verdict(line("node1", "key")) == HostKeyVerdict::kTrusted);
  CHECK(verdict(line("node1", "other") + line("node1", "key")) == HostKeyVerdict::kTrusted);
  CHECK(verdict(line("node2", "key")) == HostKeyVerdict::kUnknown);
  CHECK(verdict(line("node1", "other")) == HostKeyVerdict::kChanged);
  CHECK(verdict(line("node1", "key") + line("@revoked *", "key")) == HostKeyVerdict::kRevoked);
  CHECK(verdict(line("node1", "key") + line("@revoked *", "other")) == HostKeyVerdict::kTrusted);
  CHECK(verdict(line("@cert-authority *", "ca")) == HostKeyVerdict::kCertificate);
}

}  // namespace
}  // namespace robustrun::test::known_hosts_test
