#include "agent/spawn/profiler_slot.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace profiler_slot_test {

using namespace robustrun;
using agent::ProfilerShare;
using agent::read_plugin;
using agent::versions_to_show;
using base::Errc;
using Slot = agent::ProfilerShare::Slot;

TEST_CASE("NCCL is shown the other's versions, and those below its oldest") {
  CHECK(versions_to_show({}).empty());
  CHECK(versions_to_show({1, 2, 3, 4, 5}) == "1 2 3 4 5");
  CHECK(versions_to_show({1}) == "1");
  CHECK(versions_to_show({2}) == "1 2");
  CHECK(versions_to_show({5}) == "1 2 3 4 5");
  CHECK(versions_to_show({5, 6}) == "1 2 3 4 5 6");
  CHECK(versions_to_show({4, 6}) == "1 2 3 4 6");
  CHECK(versions_to_show({7}) == "1 2 3 4 5 6 7");
  CHECK(versions_to_show({6, 8}) == "1 2 3 4 5 6");
}

TEST_CASE("a helper's answer decides how the slot is shared") {
  const ProfilerShare shared =
      read_plugin(std::string("INSPECTOR: hello\npath /site/a b.so\nversions 4 6\n"));
  CHECK(shared.slot == Slot::kShared);
  CHECK(shared.behind == "/site/a b.so");
  CHECK(shared.versions == "1 2 3 4 6");
  struct Case {
    base::Result<std::string> answer;
    Slot slot;
    std::string reason;
  };
  const Case cases[] = {
      {std::string("error x.so: wrong ELF class: ELFCLASS32\n"), Slot::kAlone,
       "x.so: wrong ELF class: ELFCLASS32"},
      {std::string("path /x.so\nversions\n"), Slot::kAlone, "it is no profiler plugin of NCCL"},
      {std::string("path /x.so\nversions 8 9\n"), Slot::kLeft,
       "it has only versions of NCCL's interface that robustrun lacks"},
      {std::string("versions 4\n"), Slot::kLeft, "its place is not known"},
      {std::string("error: mine\nerror of mine\npath /x.so\nversions\n"), Slot::kAlone,
       "it is no profiler plugin of NCCL"},
      {std::string("error of mine\ndoubt libcudart.so.12: cannot open\n"), Slot::kLeft,
       "libcudart.so.12: cannot open"},
      {std::string("hello\n"), Slot::kLeft, "a process that loaded it does not tell what it has"},
      {std::string("versions 77 x -1 0\n"), Slot::kAlone, "it is no profiler plugin of NCCL"},
      {base::fail(Errc::kUnavailable, "SIGSEGV (core dumped): hello"), Slot::kAlone,
       "a process that loaded it failed: SIGSEGV (core dumped): hello"},
      {base::fail(Errc::kUnavailable, "SIGKILL: "), Slot::kLeft,
       "a process that loaded it failed: SIGKILL: "},
      {base::fail(Errc::kUnavailable, "exit code 1: no GPU"), Slot::kLeft,
       "a process that loaded it failed: exit code 1: no GPU"},
      {base::fail(Errc::kTimeout, "no answer within 10 s"), Slot::kLeft,
       "loading it does not end: no answer within 10 s"},
      {base::fail(Errc::kNotFound, "no shim"), Slot::kLeft,
       "a process to load it could not be started: no shim"},
      {base::fail_errno("cannot make a pipe", EMFILE), Slot::kLeft,
       "a process to load it could not be started: " +
           base::fail_errno("cannot make a pipe", EMFILE).error().what},
  };
  for (const Case& c : cases) {
    CAPTURE(c.reason);
    const ProfilerShare share = read_plugin(c.answer);
    CHECK(share.slot == c.slot);
    CHECK(share.reason == c.reason);
  }
}

TEST_CASE("a trial that may end differently is no last word") {
  CHECK(agent::is_settled(std::string()));
  CHECK(agent::is_settled(base::fail(Errc::kUnavailable, "SIGSEGV: ")));
  CHECK(agent::is_settled(base::fail(Errc::kUnavailable, "exit code 1: ")));
  CHECK_FALSE(agent::is_settled(base::fail(Errc::kUnavailable, "SIGKILL: ")));
  CHECK_FALSE(agent::is_settled(base::fail(Errc::kTimeout, "no answer within 10 s")));
  CHECK_FALSE(agent::is_settled(base::fail(Errc::kNotFound, "no shim")));
  CHECK_FALSE(agent::is_settled(base::fail(Errc::kUnavailable, "the shim ended early")));
  CHECK_FALSE(agent::is_settled(base::fail_errno("cannot make a pipe", EMFILE)));
}

TEST_CASE("only words about the plugin's own file say that it is of no use") {
  const auto is_about = [](const std::string& words, const char* candidate) {
    return agent::is_about_the_file(words, candidate);
  };
  const std::string missing = ": cannot open shared object file: No such file or directory";
  CHECK(is_about("/site/x.so" + missing, "/site/x.so"));
  CHECK(is_about("libx.so" + missing, "libx.so"));
  CHECK(is_about("/usr/lib/libx.so: invalid ELF header", "libx.so"));
  CHECK(is_about("/site/x.so: wrong ELF class: ELFCLASS32", "/site/x.so"));
  CHECK(is_about("/site/x.so: file too short", "/site/x.so"));
  CHECK(is_about("/site/x.so: cannot read file data: Is a directory", "/site/x.so"));
  CHECK(is_about("/site/x.so: object file has no loadable segments", "/site/x.so"));
  CHECK(is_about("/site/x.so: cannot open shared object file: Not a directory", "/site/x.so"));
  CHECK_FALSE(is_about("libcudart.so.12" + missing, "/site/x.so"));
  CHECK_FALSE(is_about("libx.so" + missing, "x.so"));
  CHECK_FALSE(is_about("/site/x.so: undefined symbol: cudaMalloc", "/site/x.so"));
  CHECK_FALSE(
      is_about("/site/x.so: cannot open shared object file: Permission denied", "/site/x.so"));
  CHECK_FALSE(is_about("/lib/libc.so.6: version `GLIBC_2.99' not found (required by /site/x.so)",
                       "/site/x.so"));
}

TEST_CASE("the helper loads a plugin as NCCL would, and lists what it has") {
  const std::string path = test_helper("libnccl-profiler-recorder.so");
  CHECK(agent::try_plugin(path) == "\npath " + path + "\nversions 4 6 7\n");
  const std::string folder = path.substr(0, path.rfind('/'));
  CHECK(agent::try_plugin("recorder", folder) == "\npath " + path + "\nversions 4 6 7\n");
  CHECK(agent::try_plugin("").starts_with("error "));
  CHECK(agent::try_plugin("/nowhere/x.so").starts_with("error /nowhere/x.so: cannot open"));
  // By its short name too, which the loader does not find here.
  CHECK(agent::try_plugin("nowhere").starts_with("error libnccl-profiler-nowhere.so: "));
  CHECK(agent::try_plugin("libnowhere.so").starts_with("error libnowhere.so: "));
}

namespace {

// The first 64 bytes of a shared library, and zeros.
std::string elf_file(unsigned char machine, char bits = 2, char order = 1) {
  std::string bytes = {'\x7f', 'E', 'L', 'F', bits, order, 1};
  bytes.resize(264, '\0');
  bytes[16] = 3;   // a shared library
  bytes[20] = 1;   // of the present version of ELF
  bytes[54] = 56;  // the size of its program headers
  bytes[order == 1 ? 18 : 19] = static_cast<char>(machine);
  return bytes;
}

}  // namespace

TEST_CASE("files that are no library for this machine are named with the reason") {
  const test::ScratchFolder folder;
  const auto tried = [](const std::string& path) {
    const ProfilerShare share = read_plugin(agent::try_plugin(path));
    CHECK(share.slot == Slot::kAlone);
    CHECK(share.reason.find(path) != std::string::npos);
    return share.reason;
  };
  const auto says = [&](const std::string& path, const char* words) {
    const std::string reason = tried(path);
    CAPTURE(reason);
    CHECK(reason.find(words) != std::string::npos);
  };
#if defined(__x86_64__)
  const unsigned char other = 183, own = 62;
  says(folder.write("arm.so", elf_file(other)), "it is built for aarch64");
#else
  const unsigned char other = 62, own = 183;
  says(folder.write("x86.so", elf_file(other)), "it is built for x86-64");
#endif
  says(folder.write("big endian.so", elf_file(22, 2, 2)), "it is built for machine 22");
  says(folder.write("bits.so", elf_file(own, 1)), "wrong ELF class");
  says(folder.write("cut.so", elf_file(own)), "no loadable segments");
  says(folder.write("empty.so", ""), "file too short");
  says(folder.write("text.so", "#!/bin/sh\n" + std::string(100, 'x')), "invalid ELF header");
  says(folder.path(), "Is a directory");
  says(folder / "text.so/x.so", "Not a directory");
  says(folder / "missing.so", "No such file");
}

TEST_CASE("the machine of a library is read from any bytes") {
  CHECK(agent::other_machine("").empty());
  CHECK(agent::other_machine("\177ELF").empty());
  CHECK(agent::other_machine(elf_file(183).substr(0, 19)).empty());
  CHECK(agent::other_machine(std::string(64, 'x')).empty());
  CHECK(agent::other_machine(elf_file(40, 1)) == "arm");
  CHECK(agent::other_machine(elf_file(99)) == "machine 99");
}

}  // namespace profiler_slot_test
