// The real machine, not a fake.

#include "cli/options/surroundings.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "cli/options/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::cli::surroundings_test {
namespace {

std::string secret_of(const std::string& path) {
  const auto secret = this_machine().read_secret(path);
  return secret ? *secret : secret.error().what;
}

}  // namespace

TEST_CASE("a secret is read if no other user can read it") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("secret", std::string("\0binary\n", 8));
  for (const mode_t mode : {0600, 0400}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK(secret_of(file) == std::string("\0binary\n", 8));
  }
  for (const mode_t mode : {0640, 0604, 0620, 0610, 0666}) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK(secret_of(file).starts_with("others may use it (mode 06"));
  }
}

TEST_CASE("the group of a user who is not root may read root's secret") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: being another user takes root");
    return;
  }
  const test::ScratchFolder folder;
  const std::string file = folder.write("secret", "as Kubernetes mounts it");
  constexpr id_t kOther = 4242;
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::chown(file.c_str(), 0, kOther) == 0);
  const auto seen_with = [&](mode_t mode) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    REQUIRE(::setegid(kOther) == 0);
    REQUIRE(::seteuid(kOther) == 0);
    const std::string seen = secret_of(file);
    REQUIRE(::seteuid(0) == 0);
    REQUIRE(::setegid(0) == 0);
    return seen;
  };
  CHECK(seen_with(0440) == "as Kubernetes mounts it");
  CHECK(seen_with(0640) == "as Kubernetes mounts it");
  for (const mode_t mode : {0660, 0444, 0450}) {
    CHECK(seen_with(mode).starts_with("others may use it"));
  }
  REQUIRE(::chmod(file.c_str(), 0440) == 0);
  CHECK(secret_of(file).starts_with("others may use it"));  // of root itself
}

TEST_CASE("a file that is no secret is refused without blocking") {
  const test::ScratchFolder folder;
  CHECK(secret_of(folder / "none") == "it cannot be read: No such file or directory");
  CHECK(secret_of(folder.path()) == "not a regular file");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(secret_of(folder / "pipe") == "not a regular file");
  const std::string large = folder.write("large", std::string(2 * kSecretBytesMax, 'x'));
  REQUIRE(::chmod(large.c_str(), 0600) == 0);
  CHECK(secret_of(large).size() == kSecretBytesMax + 1);  // enough to be refused
}

TEST_CASE("this machine's own addresses, and names that lead to it") {
  const Surroundings around = look_around("/usr/bin/robustrun", this_machine());
  CHECK(around.program_name == "robustrun");
  const auto own = around.network->own_addresses();
  REQUIRE(own.has_value());
  CHECK(std::ranges::find(*own, "127.0.0.1") != own->end());
  const auto numeric = around.network->look_up("127.0.0.1");
  REQUIRE(numeric.has_value());
  CHECK(*numeric == std::vector<std::string>{"127.0.0.1"});
  const auto local = around.network->look_up("localhost");
  REQUIRE(local.has_value());
  CHECK_FALSE(local->empty());
  CHECK(around.network->look_up("no host").error().what.starts_with("cannot look up no host: "));
}

}  // namespace robustrun::cli::surroundings_test
