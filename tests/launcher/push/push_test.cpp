// A build that the hosts do not have: pushed over SFTP, verified, run from the cache.

#include "launcher/push/push.h"

#include "tests/launcher/ssh_rig.h"

namespace robustrun::test::push_test {
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

// The folder of the only bundle in a home's cache.
std::string cached(const std::string& home) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(home + "/.cache/robustrun")) {
    CHECK(found.empty());
    found = entry.path();
  }
  return found;
}

unsigned mode_of(const std::string& path) {
  return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

// A companion large enough for more than one window of writes.
void add_companion(SshRig& rig) {
  std::string bytes;
  for (int i = 0; bytes.size() < 5'000'000; ++i) bytes += std::to_string(i);
  rig.options.bundle = {rig.folder.write("here/share/robustrun/data.bin", bytes),
                        rig.folder.write("here/share/robustrun/empty", "")};
}

void expect_start(SshRig& rig, const std::string& orders, std::uint32_t generation = 0) {
  std::filesystem::remove(rig.out(0, "credential"));
  const auto agent = rig.launch(orders, 0, generation);
  REQUIRE(rig.wait([&] { return rig.started() || agent->end; }));
  if (agent->end) FAIL(agent->end->why);
}

TEST_CASE_TEMPLATE("a host without the build gets it, and runs it from its cache", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport, {.install = false});
  add_companion(rig);
  expect_start(rig, "wait");
  const std::string folder = cached(rig.remote_home());
  CHECK(std::filesystem::path(folder).filename().string().size() == 32);
  CHECK(mode_of(folder) == 0700);
  CHECK(mode_of(folder + "/bin/robustrun") == 0700);
  CHECK(mode_of(folder + "/share/robustrun/data.bin") == 0600);
  CHECK(read_text(folder + "/share/robustrun/data.bin") ==
        read_text(rig.folder / "here/share/robustrun/data.bin"));
  CHECK(has(read_text(rig.out(0, "argv")), ".cache/robustrun/"));

  SUBCASE("the second launch does not push") {
    expect_start(rig, "wait", 1);
    CHECK(rig.commands_with("sftp-server") == 1);
  }
  SUBCASE("nor does another launcher") {
    rig.launcher.reset();
    expect_start(rig, "wait", 1);
    CHECK(rig.commands_with("sftp-server") == 1);
  }
  SUBCASE("a truncated file is detected, and the build pushed again") {
    std::filesystem::resize_file(folder + "/share/robustrun/data.bin", 1000);
    expect_start(rig, "wait", 1);
    CHECK(rig.commands_with("sftp-server") == 2);
    CHECK(std::filesystem::file_size(folder + "/share/robustrun/data.bin") >= 5'000'000);
    CHECK(cached(rig.remote_home()) == folder);
  }
  SUBCASE("a modified list of hashes is detected") {
    std::ofstream(folder + "/bin/robustrun") << "#!/bin/sh\necho evil\n";
    std::filesystem::current_path(folder);
    run({"sh", "-c", "sha256sum bin/robustrun share/robustrun/data.bin > MANIFEST"});
    std::filesystem::current_path("/");
    expect_start(rig, "wait", 1);
    CHECK(rig.commands_with("sftp-server") == 2);
  }
}

TEST_CASE_TEMPLATE("a host with another build at our path gets this one", Over,
                   RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport);
  const auto agent = rig.launch("other build");
  REQUIRE(rig.wait(
      [&] { return agent->end || has(read_text(rig.out(0, "argv")), ".cache/robustrun/"); }));
  if (agent->end) FAIL(agent->end->why);
}

TEST_CASE_TEMPLATE("many hosts with one home are pushed to at once safely", Over,
                   RR_BOTH_TRANSPORTS) {
  constexpr std::uint32_t kHosts = 12;
  SshRig rig(Over::kTransport, {.install = false});
  rig.folder.write("shared-home", "");
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
  CHECK(!cached(rig.folder / "home/shared").empty());
  CHECK(rig.commands_with("sftp-server") <= 8);  // those that waited have found it
}

TEST_CASE_TEMPLATE("a home that cannot be written is reported", Over, RR_BOTH_TRANSPORTS) {
  SshRig rig(Over::kTransport, {.install = false});
  rig.folder.write("home/127.0.1.1/.cache", "a file");
  const auto agent = rig.launch("wait");
  REQUIRE(rig.wait([&] { return agent->end.has_value(); }));
  INFO(agent->end->why);
  CHECK(has(agent->end->why, "cannot push this build"));
  CHECK(has(agent->end->why, "~/.cache/robustrun/"));
}

TEST_CASE("a bundle keeps its layout and is named by its content") {
  const ScratchFolder folder;
  const std::string program = folder.write("bin/robustrun", "program");
  const std::string other = folder.write("share/x/y.py", "text");
  const auto bundle = launcher::read_push_bundle(program, {other});
  REQUIRE(bundle.has_value());
  REQUIRE(bundle->files.size() == 2);
  CHECK(bundle->files[0].name == "bin/robustrun");
  CHECK(bundle->files[1].name == "share/x/y.py");
  CHECK(bundle->name.size() == 32);
  folder.write("share/x/y.py", "another text");
  CHECK(launcher::read_push_bundle(program, {other})->name != bundle->name);
}

TEST_CASE("files outside the prefix or with odd names are not pushed") {
  const ScratchFolder folder;
  const std::string program = folder.write("prefix/bin/robustrun", "program");
  CHECK(!launcher::read_push_bundle(program, {folder.write("elsewhere/file", "")}));
  CHECK(!launcher::read_push_bundle(program, {folder.write("prefix/a b", "")}));
  CHECK(!launcher::read_push_bundle(program, {folder / "prefix/is-not-there"}));
}

}  // namespace
}  // namespace robustrun::test::push_test
