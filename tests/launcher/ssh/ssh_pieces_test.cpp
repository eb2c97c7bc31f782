// The pure pieces of the SSH launcher.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>

#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/openssh/command.h"
#include "launcher/openssh/words.h"
#include "launcher/push/commands.h"
#include "launcher/ssh/gate.h"
#include "launcher/ssh/key_file.h"
#include "launcher/ssh/target.h"
#include "launcher/ssh_encoding.h"
#include "tests/launcher/ssh_rig.h"
#include "tests/scratch_folder.h"

namespace robustrun::test::ssh_pieces_test {
namespace {

using launcher::SshTrouble;

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

TEST_CASE("base64 survives a round trip") {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "\xff\x00\x7f"}) {
    CHECK(launcher::decode_base64(launcher::encode_base64(text)) == text);
    CHECK(launcher::decode_base64(launcher::encode_base64(text, false)) == text);
  }
  CHECK(launcher::encode_base64("fo") == "Zm8=");
  CHECK(launcher::encode_base64("fo", false) == "Zm8");
  CHECK(!launcher::decode_base64("Z"));
  CHECK(!launcher::decode_base64("Zm 8"));
}

TEST_CASE("a read beyond the end fails, and so do all later ones") {
  std::string bytes;
  launcher::put_text(bytes, "abc");
  launcher::put_u32(bytes, 100);
  launcher::SshReader reader(bytes);
  CHECK(reader.text() == "abc");
  CHECK(!reader.text());
  CHECK(!reader.u8());
}

TEST_CASE("the kind of a private key is found without its passphrase") {
  using launcher::SshKeyKind;
  const ScratchFolder folder;
  const auto kind = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"ssh-keygen", "-q", "-f", folder / "key"});
    std::filesystem::remove(folder / "key");
    run(options);
    return launcher::read_key("key", read_text(folder / "key")).kind;
  };
  CHECK(kind({"-t", "ed25519", "-N", ""}) == SshKeyKind::kUsable);
  CHECK(kind({"-t", "ecdsa", "-N", ""}) == SshKeyKind::kUsable);
  CHECK(kind({"-t", "ecdsa", "-N", "", "-m", "PEM"}) == SshKeyKind::kUsable);
  CHECK(kind({"-t", "ecdsa", "-N", "", "-m", "PKCS8"}) == SshKeyKind::kUsable);
  CHECK(kind({"-t", "rsa", "-b", "1024", "-N", ""}) == SshKeyKind::kRsa);
  CHECK(kind({"-t", "rsa", "-b", "1024", "-N", "", "-m", "PEM"}) == SshKeyKind::kRsa);
  CHECK(kind({"-t", "rsa", "-b", "1024", "-N", "", "-m", "PKCS8"}) == SshKeyKind::kRsa);
  CHECK(kind({"-t", "ed25519", "-N", "secret"}) == SshKeyKind::kEncrypted);
  CHECK(kind({"-t", "ecdsa", "-N", "secret", "-m", "PEM"}) == SshKeyKind::kEncrypted);
  CHECK(launcher::read_key("key", "no key").kind == SshKeyKind::kUnknown);
  CHECK(launcher::read_key("key", "").kind == SshKeyKind::kUnknown);
}

TEST_CASE("ssh's messages are classified by what can be done about them") {
  const auto read = [](const std::string& text) {
    return launcher::read_openssh_words(text, "ssh-ed25519 SHA256:abc");
  };
  CHECK(read("root@h: Permission denied (publickey).\n").trouble == SshTrouble::kLogin);
  CHECK(read("Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their "
             "offer: ssh-rsa\n")
            .trouble == SshTrouble::kHostKey);
  CHECK(read("ssh: Could not resolve hostname h: Name or service not known\n").trouble ==
        SshTrouble::kLookUp);
  CHECK(read("ssh: connect to host h port 22: Connection refused\n").trouble ==
        SshTrouble::kUnreachable);
  CHECK(read("ssh: connect to host h port 22: Connection timed out\n").trouble ==
        SshTrouble::kUnreachable);
  CHECK(read("Connection timed out during banner exchange\n").trouble == SshTrouble::kUnreachable);
  CHECK(read("kex_exchange_identification: read: Connection reset by peer\n"
             "Connection reset by 10.0.0.1 port 22\n")
            .trouble == SshTrouble::kDropped);
  CHECK(read("Timeout, server h not responding.\n").trouble == SshTrouble::kLost);
  const auto unknown = read(
      "No ED25519 host key is known for h and you have requested strict checking.\n"
      "Host key verification failed.\n");
  CHECK(unknown.trouble == SshTrouble::kHostKey);
  CHECK(has(unknown.what, "SHA256:abc"));
  CHECK(read("something new\n").what == "ssh says: something new");
  CHECK(read("").trouble == SshTrouble::kOther);
}

TEST_CASE("a verbose client's debug output is dropped, its messages are kept, within a bound") {
  launcher::OpenSshErrors errors;
  errors.add("OpenSSH_9.2p1\r\ndebug1: Connecting\ndebug1: Server host key: ssh-ed25519 SHA");
  errors.add("256:xyz\nreal words\nAuthenticated to h\nunfinished");
  errors.finish();
  CHECK(errors.head() == "real words\nunfinished\n");
  CHECK(errors.server_key() == "ssh-ed25519 SHA256:xyz");
  for (int i = 0; i < 10'000; ++i) errors.add("more and more words without an end");
  errors.finish();
  CHECK(errors.head().size() <= launcher::kErrorHeadBytes + 1);
}

TEST_CASE("the client gets the host after --, whatever its name looks like") {
  const auto argv = launcher::openssh_argv({"/usr/bin/ssh"},
                                           {.name = "-oProxyCommand=evil", .user = "me", .port = 7},
                                           std::chrono::milliseconds(1500), {"command", false});
  REQUIRE(argv.size() > 3);
  CHECK(argv[argv.size() - 3] == "--");
  CHECK(argv[argv.size() - 2] == "-oProxyCommand=evil");
  CHECK(argv.back() == "command");
  CHECK(std::ranges::find(argv, "-oConnectTimeout=2") != argv.end());
  CHECK(std::ranges::find(argv, "-oBatchMode=yes") != argv.end());
  const auto sftp = launcher::openssh_argv({"ssh"}, {.name = "[::1]", .user = {}},
                                           std::chrono::seconds(10), {"sftp", true});
  CHECK(sftp[sftp.size() - 2] == "::1");
  CHECK(std::ranges::find(sftp, "-s") != sftp.end());
}

TEST_CASE("programs of a scheduler get the host and the command alone") {
  const auto argv =
      launcher::openssh_argv({"/usr/bin/qrsh", "-inherit"}, {.name = "n1", .user = {}},
                             std::chrono::seconds(10), {"command", false});
  CHECK(argv == std::vector<std::string>{"/usr/bin/qrsh", "-inherit", "n1", "command"});
}

TEST_CASE("only paths that a shell cannot misread are used in a command") {
  using enum launcher::ShellEnd;
  CHECK(launcher::installed_command("/opt/robust run/bin/robustrun", "agent", kBecomesAgent) ==
        "exec /bin/sh -c 'test -x \"/opt/robust run/bin/robustrun\" || exit 127; "
        "echo robustrun-agent-starts $$; exec \"/opt/robust run/bin/robustrun\" agent'");
  for (const std::string path : {"relative", "/a'b", "/a\"b", "/a$b", "/a`b", "/a\\b", "/a\nb"}) {
    CAPTURE(path);
    CHECK(!launcher::installed_command(path, "agent", kBecomesAgent));
  }
}

TEST_CASE("a shell that stays ends with the agent's exit code, by whatever the agent ends") {
  const robustrun::test::ScratchFolder folder;
  const std::string agent = folder.write("an agent", "#!/bin/sh\nread how; eval \"$how\"\n");
  REQUIRE(::chmod(agent.c_str(), 0755) == 0);
  const auto command = launcher::installed_command(agent, "words", launcher::ShellEnd::kStays);
  REQUIRE(command);
  const auto run = [&](const std::string& how) {
    return base::run_tool({"/bin/sh", "-c", *command}, std::chrono::seconds(10), how + "\n");
  };
  const auto killed = run("echo $$ $1; kill -USR2 $PPID $$; kill -KILL $$");
  REQUIRE(killed);
  CHECK(killed->status.kind == base::ExitStatus::Kind::kExited);
  CHECK(killed->status.code == 128 + SIGKILL);
  const auto pid = launcher::find_start_mark(killed->out);
  REQUIRE(pid);
  CHECK(killed->out.find(fmt::format("\n{} words\n", *pid)) != std::string::npos);
  const auto ended = run("exit 65");
  REQUIRE(ended);
  CHECK(ended->status.code == 65);
}

TEST_CASE("the mark is found after any output of the shell's start files") {
  CHECK(launcher::find_start_mark("Welcome!\nrobustrun-agent-starts 123\n") == 123);
  CHECK(!launcher::find_start_mark("Welcome!\nrobustrun-agent-starts 12"));
  CHECK(!launcher::find_start_mark("robustrun-agent-starts $$\n"));
  CHECK(!launcher::find_start_mark(""));
}

TEST_CASE("algorithms are ours in our order, restricted to those that the user allows") {
  CHECK(launcher::allowed_algorithms("a,b,c", "") == "a,b,c");
  CHECK(launcher::allowed_algorithms("a,b,c", "c,x,a") == "a,c");
  CHECK(launcher::allowed_algorithms("a,b,c", "x") == "");
}

TEST_CASE("a gate keeps its limits, and waiters for one jump host do not block others") {
  Loop loop;
  launcher::SshGate gate(loop.executor(), 4, 2);
  std::vector<launcher::SshGate::Pass> jumping;
  std::vector<launcher::SshGate::Pass> direct;
  for (int i = 0; i < 5; ++i) {
    gate.enter("bastion",
               [&](launcher::SshGate::Pass pass, bool) { jumping.push_back(std::move(pass)); });
  }
  for (int i = 0; i < 5; ++i) {
    gate.enter("", [&](launcher::SshGate::Pass pass, bool) { direct.push_back(std::move(pass)); });
  }
  loop.run_out();
  CHECK(jumping.size() == 2);
  CHECK(direct.size() == 2);
  direct.clear();
  loop.run_out();
  CHECK(jumping.size() == 2);
  CHECK(direct.size() == 2);
  jumping.clear();
  loop.run_out();
  CHECK(jumping.size() == 2);
  direct.clear();
  loop.run_out();
  CHECK(direct.size() == 1);
}

TEST_CASE("a gate narrows when connections are dropped and widens again") {
  Loop loop;
  launcher::SshGate gate(loop.executor(), 8, 8);
  for (int i = 0; i < 100; ++i) gate.narrow();
  std::vector<launcher::SshGate::Pass> passes;
  for (int i = 0; i < 20; ++i) {
    gate.enter("", [&](launcher::SshGate::Pass pass, bool) { passes.push_back(std::move(pass)); });
  }
  loop.run_out();
  CHECK(passes.size() == launcher::kFanoutMin);
  for (int i = 0; i < 100; ++i) gate.widen();
  loop.run_out();
  CHECK(passes.size() == 8);
}

}  // namespace
}  // namespace robustrun::test::ssh_pieces_test
