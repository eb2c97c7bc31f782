#include "base/io/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/base/support.h"

namespace fd_test {

using namespace robustrun::base;
using robustrun::test::Scratch;

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
bool is_cloexec(const Fd& fd) { return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0; }

unsigned mode_of(const std::string& path) {
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a descriptor is closed exactly once, by its last owner") {
  FdPair ends = make_pipe().value();
  const int number = ends.first.get();
  {
    Fd owner = std::move(ends.first);
    CHECK_FALSE(ends.first);
    CHECK(is_open(number));
    owner = std::move(owner);
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("descriptors made by base/io are close-on-exec") {
  const FdPair ends = make_pipe().value();
  const FdPair sockets = make_socket_pair(SOCK_SEQPACKET).value();
  for (const Fd* fd : {&ends.first, &ends.second, &sockets.first, &sockets.second}) {
    CHECK(is_cloexec(*fd));
  }
}

TEST_CASE("set_nonblocking turns the flag on and off") {
  const FdPair ends = make_pipe().value();
  char byte = 0;
  REQUIRE(set_nonblocking(ends.first.get(), true));
  CHECK(::read(ends.first.get(), &byte, 1) == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(set_nonblocking(ends.first.get(), false));
  CHECK((::fcntl(ends.first.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK_FALSE(set_nonblocking(-1, true));
}

TEST_CASE("read_file returns all bytes up to its limit") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  const std::string bytes(200000, '\xfe');
  REQUIRE(write_file_atomically(path, bytes, 0600));
  CHECK(read_file(path, bytes.size()).value() == bytes);
  CHECK(read_file(path, bytes.size() - 1).error().code == Errc::kLimit);
  CHECK(read_file(scratch / "none", 10).error().os_errno == ENOENT);
  CHECK_FALSE(read_file("/proc/self/status", 1 << 20).value().empty());
}

TEST_CASE("read_file waits for no FIFO, reads no device or folder, and follows links if allowed") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  REQUIRE(write_file_atomically(path, "text", 0600));
  CHECK(read_file(path, 4, Links::kRefuse).value() == "text");
  CHECK(read_file(path, 3, Links::kRefuse).error().code == Errc::kLimit);
  REQUIRE(::symlink(path.c_str(), (scratch / "link").c_str()) == 0);
  CHECK(read_file(scratch / "link", 4).value() == "text");
  CHECK(read_file(scratch / "link", 4, Links::kRefuse).error().os_errno == ELOOP);
  REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
  for (const std::string& other : {scratch / "fifo", std::string("/dev/zero")}) {
    CAPTURE(other);
    CHECK(read_file(other, 4).error().code == Errc::kCorrupt);
  }
  CHECK(read_file(scratch.path(), 4).error().os_errno == EISDIR);
  CHECK(read_file("/dev/null", 4).value().empty());
  CHECK(read_file(scratch / "none", 4).error().os_errno == ENOENT);
}

TEST_CASE("a file whose size is above the limit is refused before it is read") {
  const Scratch scratch;
  const std::string path = scratch / "sparse";
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const off_t size = off_t{1} << 40;  // reading up to this limit would need its memory
  REQUIRE(::ftruncate(fd.get(), size) == 0);
  CHECK(read_file(path, static_cast<std::size_t>(size) - 1).error().code == Errc::kLimit);
}

TEST_CASE("read_input reads a pipe to its end, and gives up one without a writer or an end") {
  const Scratch scratch;
  const std::string path = scratch / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  FdPair pipe = make_pipe().value();
  REQUIRE(write_all(pipe.second.get(), "text"));
  pipe.second.reset();
  const std::string name = "/proc/self/fd/" + std::to_string(pipe.first.get());
  CHECK(read_input(name, 4).value() == "text");
  REQUIRE(write_file_atomically(scratch / "file", "text", 0600));
  CHECK(read_input(scratch / "file", 4).value() == "text");
  CHECK(read_input("/dev/zero", 4).error().code == Errc::kCorrupt);
  FdPair full = make_pipe().value();
  REQUIRE(write_all(full.second.get(), "12345"));
  const std::string endless = "/proc/self/fd/" + std::to_string(full.first.get());
  CHECK(read_input(endless, 4).error().code == Errc::kLimit);
}

TEST_CASE("write_file_atomically replaces the file, sets its mode and leaves no temporary file") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  REQUIRE(write_file_atomically(path, "old", 0600));
  REQUIRE(write_file_atomically(path, "new", 0640));
  CHECK(read_file(path, 10).value() == "new");
  CHECK(mode_of(path) == 0640);
  // A failure in the last step removes the temporary file as well.
  REQUIRE(::mkdir((scratch / "folder").c_str(), 0700) == 0);
  CHECK_FALSE(write_file_atomically(scratch / "folder", "x", 0600));
  const std::filesystem::directory_iterator entries(scratch.path());
  CHECK(std::distance(begin(entries), end(entries)) == 2);
}

TEST_CASE("make_directories makes every folder of a path once") {
  const Scratch scratch;
  const std::string path = scratch / "a/b/c";
  REQUIRE(make_directories(path, 0700));
  REQUIRE(make_directories(path, 0700));
  REQUIRE(make_directories(path + "/", 0700));
  CHECK(mode_of(scratch / "a") == 0700);
  CHECK(mode_of(path) == 0700);
  REQUIRE(write_file_atomically(scratch / "file", "x", 0600));
  CHECK(make_directories(scratch / "file/below", 0700).error().os_errno == ENOTDIR);
  CHECK(make_directories(scratch / "file", 0700).error().os_errno == ENOTDIR);
}

}  // namespace fd_test
