#include "agent/worker/shm_sweep.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/fd.h"
#include "tests/scratch_folder.h"

namespace shm_sweep_test {

using namespace robustrun;
using agent::sweep_shm;
using Strings = std::vector<std::string>;

namespace {

struct Fixture {
  test::ScratchFolder folder{"/dev/shm"};  // leases need the same kind of file system
  base::Nanos since = base::SystemClock().wall_time();

  [[nodiscard]] base::Fd make(const std::string& name, mode_t mode = 0600) const {
    base::Fd fd(::open((folder / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    REQUIRE(::ftruncate(fd.get(), 4096) == 0);
    return fd;
  }
  Strings sweep() const { return sweep_shm(since, folder.path()); }
};

}  // namespace

TEST_CASE("segments that no process has open or mapped are removed, semaphores too") {
  const Fixture f;
  for (const char* const name : {"torch_1_2", "sem.mp-x", "psm_a"}) (void)f.make(name);
  CHECK(f.sweep() == Strings{"psm_a", "sem.mp-x", "torch_1_2"});
  CHECK(std::filesystem::is_empty(f.folder.path()));
  CHECK(f.sweep().empty());
}

TEST_CASE("a segment that a process holds open stays, for whatever purpose") {
  const Fixture f;
  const base::Fd held = f.make("written");
  (void)f.make("read");
  const base::Fd reader(::open((f.folder / "read").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(f.sweep().empty());
}

TEST_CASE("a segment that is mapped stays, its descriptor closed, until it is unmapped") {
  for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
    const Fixture f;
    (void)f.make("mapped");
    void* memory = MAP_FAILED;
    {
      const int mode = protection == PROT_READ ? O_RDONLY : O_RDWR;
      const base::Fd fd(::open((f.folder / "mapped").c_str(), mode | O_CLOEXEC));
      memory = ::mmap(nullptr, 4096, protection, MAP_SHARED, fd.get(), 0);
      REQUIRE(memory != MAP_FAILED);
    }
    CHECK(f.sweep().empty());
    REQUIRE(::munmap(memory, 4096) == 0);
    CHECK(f.sweep() == Strings{"mapped"});
  }
}

TEST_CASE("a segment older than the attempt stays") {
  Fixture f;
  (void)f.make("old");
  f.since += std::chrono::seconds(10);
  CHECK(f.sweep().empty());
}

TEST_CASE("a segment that others may read, that has two names, or that is not a plain file stays") {
  const Fixture f;
  (void)f.make("copied_by_hand", 0644);
  (void)f.make("linked");
  REQUIRE(::link((f.folder / "linked").c_str(), (f.folder / "second_name").c_str()) == 0);
  REQUIRE(::mkdir((f.folder / "folder").c_str(), 0700) == 0);
  REQUIRE(::mkfifo((f.folder / "fifo").c_str(), 0600) == 0);
  CHECK(f.sweep().empty());
}

TEST_CASE("a symbolic link is neither followed nor removed") {
  const Fixture f;
  const test::ScratchFolder elsewhere;
  const std::string target = elsewhere.write("target", "x");
  REQUIRE(::chmod(target.c_str(), 0600) == 0);
  REQUIRE(::symlink(target.c_str(), (f.folder / "link").c_str()) == 0);
  CHECK(f.sweep().empty());
  CHECK(std::filesystem::exists(target));
}

TEST_CASE("a machine without shared memory is no error") {
  CHECK(sweep_shm(base::Nanos(0), "/nonexistent").empty());
}

}  // namespace shm_sweep_test
