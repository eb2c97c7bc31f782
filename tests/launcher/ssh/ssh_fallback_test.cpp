// Which transport serves a host, and why: `auto` against a real sshd.

#include <fmt/format.h>

#include <functional>

#include "launcher/ssh/launcher.h"
#include "tests/launcher/ssh_rig.h"
#include "tests/support/captured_log.h"

#ifdef RR_SANITIZED
// libssh2 1.10 loses a bignum per login with an ecdsa key in OpenSSH's format.
extern "C" const char* __lsan_default_suppressions() { return "leak:CRYPTO_zalloc\n"; }
#endif

namespace robustrun::test::ssh_fallback_test {
namespace {

using launcher::SshTransport;

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

void expect_start(SshRig& rig) {
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return rig.started() || agent->end; }));
  if (agent->end) FAIL(agent->end->why);
}

void expect_fallback(SshRig& rig, const std::string& reason) {
  const CapturedLog log;
  expect_start(rig);
  INFO(log.text());
  CHECK(has(log.text(), "uses the OpenSSH client"));
  CHECK(has(log.text(), reason));
}

void expect_no_fallback(SshRig& rig) {
  const CapturedLog log;
  expect_start(rig);
  INFO(log.text());
  CHECK(!has(log.text(), "OpenSSH"));
}

TEST_CASE("libssh2 serves ed25519 and ecdsa keys") {
  for (const std::string type : {"ed25519", "ecdsa"}) {
    CAPTURE(type);
    SshRig rig(SshTransport::kAuto, {.user_key_type = type, .host_key_type = type});
    expect_no_fallback(rig);
  }
}

TEST_CASE("keys in other formats are read, too") {
  for (const std::string format : {"PEM", "PKCS8"}) {
    CAPTURE(format);
    SshRig rig(SshTransport::kAuto, {.user_key_type = "ecdsa"});
    run({"ssh-keygen", "-p", "-q", "-N", "", "-m", format, "-f", rig.folder / "user_key"});
    expect_no_fallback(rig);
  }
}

TEST_CASE("a user with only an RSA key is served by OpenSSH") {
  SshRig rig(SshTransport::kAuto, {.user_key_type = "rsa"});
  expect_fallback(rig, "(RSA)");
}

TEST_CASE("a host with only an RSA key is served by OpenSSH") {
  SshRig rig(SshTransport::kAuto, {.host_key_type = "rsa"});
  expect_fallback(rig, "ssh-rsa");
}

TEST_CASE("a server with no algorithm of libssh2's is served by OpenSSH") {
  SshRig rig(SshTransport::kAuto, {.server_config = "Ciphers aes256-gcm@openssh.com\n"});
  expect_fallback(rig, "no algorithm in common");
}

// A probe may be too short for two servers on a busy machine.
bool answers_in_the_end(const std::function<bool()>& answers) {
  for (int tried = 0; tried < 30; ++tried) {
    if (answers()) return true;
  }
  return false;
}

TEST_CASE("hosts behind a jump host are served by OpenSSH, and probed through it") {
  SshRig rig(SshTransport::kAuto);
  rig.prefer_in_client_config("Host 127.0.1.*\n  ProxyJump 127.0.9.9:" + std::to_string(rig.port) +
                              "\n");
  expect_fallback(rig, "ProxyJump");
  const auto answers = [&] {
    std::optional<bool> answer;
    rig.launcher->probe(base::NodeId{0}, [&](bool yes) { answer = yes; });
    REQUIRE(rig.wait([&] { return answer.has_value(); }));
    return *answer;
  };
  CHECK(answers_in_the_end(answers));
  CHECK(has(read_text(rig.folder / "sshd.log"), "127.0.9.9"));
}

TEST_CASE("a machine whose jump host lets no login through in time does not answer a probe") {
  SshRig rig(SshTransport::kAuto);
  const std::string proxy = rig.folder.write(
      "proxy", "#!/bin/sh\ntest -e " + rig.folder / "hang" + " && exec cat 3>&1 > /dev/null\n" +
                   "exec ssh -F " + rig.folder / "jump_config" + " -p " + std::to_string(rig.port) +
                   " -W \"$1\" 127.0.9.9\n");
  std::filesystem::permissions(proxy, std::filesystem::perms::owner_all);
  std::filesystem::copy_file(rig.folder / "client_config", rig.folder / "jump_config");
  rig.prefer_in_client_config("ProxyCommand " + proxy + " %h:%p\n");
  expect_fallback(rig, "ProxyCommand");
  const auto answers = [&] {
    std::optional<bool> result;
    rig.launcher->probe(base::NodeId{0}, [&](bool yes) { result = yes; });
    REQUIRE(rig.wait([&] { return result.has_value(); }));
    return *result;
  };
  CHECK(answers_in_the_end(answers));
  rig.folder.write("wrapper", "#!/bin/sh\nexec cat\n");  // a shell that hangs
  CHECK_FALSE(answers());
  rig.folder.write("hang", "");  // the machine sends nothing at all
  CHECK_FALSE(answers());
}

TEST_CASE("if libssh2 cannot serve a host and there is no ssh client, the error names the cause") {
  SshRig rig(SshTransport::kAuto, {.user_key_type = "rsa"});
  rig.options.ssh_command = {rig.folder / "no-such-program/ssh"};
  std::filesystem::create_directories(rig.folder / "client/.ssh");
  std::filesystem::copy_file(rig.folder / "user_key", rig.folder / "client/.ssh/id_rsa");
  std::filesystem::copy_file(rig.folder / "known_hosts", rig.folder / "client/.ssh/known_hosts");
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "id_rsa (RSA)"));
  CHECK(has(agent->end->why, "none on PATH"));
}

TEST_CASE("without an ssh client libssh2 works from the defaults") {
  SshRig rig(SshTransport::kAuto);
  rig.options.ssh_command = {rig.folder / "no-such-program/ssh"};
  std::filesystem::create_directories(rig.folder / "client/.ssh");
  std::filesystem::copy_file(rig.folder / "user_key", rig.folder / "client/.ssh/id_ed25519");
  std::filesystem::copy_file(rig.folder / "known_hosts", rig.folder / "client/.ssh/known_hosts");
  expect_no_fallback(rig);
}

TEST_CASE("libssh2, if requested explicitly, reports what it cannot do and keys it did not try") {
  SshRig rig(SshTransport::kLibssh2, {.user_key_type = "rsa"});
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "(RSA)"));
  CHECK(has(agent->end->why, "--ssh-transport=openssh"));
  // Keys that it can use, and that the server does not know.
  for (const char* name : {"key1", "key2", "key3", "key4", "key5", "key6", "key7"}) {
    rig.make_key(name, "ed25519");
    rig.prefer_in_client_config(fmt::format("IdentityFile {}\n", rig.folder / name));
  }
  const auto later = rig.launch("wait");
  REQUIRE(rig.wait([&] { return later->end.has_value(); }));
  INFO(later->end->why);
  CHECK(has(later->end->why, "/key3)"));  // the last one that was tried
  CHECK(has(later->end->why, "2 further keys were not tried"));
  CHECK(has(later->end->why, "IdentitiesOnly"));
  CHECK(has(later->end->why, "user_key (RSA)"));
}

TEST_CASE("a key that is only in an ssh-agent works with both transports") {
  for (const SshTransport transport : {SshTransport::kLibssh2, SshTransport::kOpenSsh}) {
    SshRig rig(transport, {.client_config = "IdentitiesOnly no\nIdentityAgent SSH_AUTH_SOCK\n"});
    const std::string socket = rig.folder / "agent.sock";
    rig.start("ssh-agent", {"ssh-agent", "-D", "-a", socket});
    REQUIRE(rig.wait([&] { return std::filesystem::exists(socket); }));
    run({"env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", rig.folder / "user_key"});
    std::filesystem::remove(rig.folder / "user_key");
    std::filesystem::remove(rig.folder / "user_key.pub");
    rig.options.agent_socket = socket;
    expect_start(rig);
  }
}

TEST_CASE("an ssh-agent that does not answer fails at the deadline") {
  SshRig rig(SshTransport::kLibssh2,
             {.client_config = "IdentitiesOnly no\nIdentityAgent SSH_AUTH_SOCK\n"});
  const std::string socket = rig.folder / "agent.sock";
  rig.start("ssh-agent", {"ssh-agent", "-D", "-a", socket});
  REQUIRE(rig.wait([&] { return std::filesystem::exists(socket); }));
  // It listens once it has answered a request; stopped earlier, it would refuse connections.
  run({"env", "SSH_AUTH_SOCK=" + socket, "ssh-add", "-q", rig.folder / "user_key"});
  CHECK(rig.signal("ssh-agent", SIGSTOP));
  rig.options.agent_socket = socket;
  rig.options.start_timeout = std::chrono::seconds(1);
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "login"));
}

}  // namespace
}  // namespace robustrun::test::ssh_fallback_test
