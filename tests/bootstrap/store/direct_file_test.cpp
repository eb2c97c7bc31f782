#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <span>

#include <string>

#include "bootstrap/hot/resident.h"
#include "bootstrap/store/direct_file.h"
#include "tests/support/scratch.h"

namespace direct_file_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::size_t kLength = 64 * kDirectAlignment + 100;

std::string content() {
  std::string bytes(kLength, '\0');
  for (std::size_t i = 0; i < kLength; ++i) bytes[i] = static_cast<char>((i * 7 + i / 4096) & 0xFF);
  return bytes;
}

// In the build folder: temporary folders may be in memory.
struct File {
  File() : fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    REQUIRE(::pwrite(fd.get(), content().data(), kLength, 0) == static_cast<ssize_t>(kLength));
    REQUIRE(::fsync(fd.get()) == 0);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::unlink(path.c_str()); }

  // False: this file system keeps it in memory anyway.
  [[nodiscard]] bool forget() const {
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    return is_forgotten();
  }
  [[nodiscard]] bool is_forgotten() const {
    const auto ranges = resident_ranges(fd.get(), kLength);
    return ranges && ranges->empty();
  }

  std::string path = "direct-file-test-" + std::to_string(::getpid());
  base::Fd fd;
};

}  // namespace

TEST_CASE("a direct read has the file's bytes, and leaves none in the page cache") {
  const File file;
  const DirectFile direct(file.path);
  alignas(kDirectAlignment) std::array<char, 4 * kDirectAlignment> bytes{};
  if (!file.forget() || !direct.read(0, bytes)) {
    MESSAGE("not tested: the file system here has no direct reads");
    return;
  }
  CHECK(std::string(bytes.data(), bytes.size()) == content().substr(0, bytes.size()));
  CHECK(direct.read(kDirectAlignment, bytes));
  CHECK(std::string(bytes.data(), bytes.size()) ==
        content().substr(kDirectAlignment, bytes.size()));
  CHECK(file.is_forgotten());
}

TEST_CASE("bytes that are cached, unaligned or missing are left to ordinary reads") {
  const File file;
  const DirectFile direct(file.path);
  alignas(kDirectAlignment) std::array<char, 4 * kDirectAlignment> bytes{};
  std::array<char, 4 * kDirectAlignment> all{};
  REQUIRE(::pread(file.fd.get(), all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
  CHECK_FALSE(direct.read(0, bytes));
  static_cast<void>(file.forget());
  CHECK_FALSE(direct.read(100, bytes));
  CHECK_FALSE(direct.read(0, std::span(bytes).first(100)));
  CHECK_FALSE(direct.read(0, std::span(bytes).subspan(8, kDirectAlignment)));
  CHECK_FALSE(direct.read(0, {}));
  CHECK_FALSE(direct.read(64 * kDirectAlignment, bytes));  // the file ends earlier
  CHECK_FALSE(DirectFile(file.path + ".missing").read(0, bytes));
}

}  // namespace direct_file_test
