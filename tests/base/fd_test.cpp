#include "base/io/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

TEST_CASE("open_regular opens files alone, and waits for no FIFO") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  REQUIRE(write_file_atomically(path, "text", 0600));
  CHECK(is_cloexec(open_regular(path).value()));
  REQUIRE(::symlink(path.c_str(), (scratch / "link").c_str()) == 0);
  CHECK(open_regular(scratch / "link"));
  CHECK(open_regular(scratch / "link", Links::kRefuse).error().os_errno == ELOOP);
  REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
  for (const std::string& other : {scratch / "fifo", scratch.path(), std::string("/dev/null")}) {
    CAPTURE(other);
    CHECK(open_regular(other).error().code == Errc::kCorrupt);
  }
  CHECK(open_regular(scratch / "none").error().os_errno == ENOENT);
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

TEST_CASE("write_output replaces a file and a link to one, as write_file_atomically does") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  REQUIRE(write_output(path, "old", 0600));
  REQUIRE(write_output(path, "new", 0640));
  CHECK(read_file(path, 10).value() == "new");
  CHECK(mode_of(path) == 0640);
  REQUIRE(::symlink(path.c_str(), (scratch / "link").c_str()) == 0);
  REQUIRE(write_output(scratch / "link", "own", 0600));
  CHECK(read_file(scratch / "link", 10, Links::kRefuse).value() == "own");
  CHECK(read_file(path, 10).value() == "new");
}

TEST_CASE("write_output writes into a FIFO, and refuses one without a reader") {
  const Scratch scratch;
  const std::string path = scratch / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(write_output(path, "text", 0600).error().code == Errc::kUnavailable);
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  REQUIRE(reader);
  REQUIRE(write_output(path, "text", 0600));
  std::string got(10, '\0');
  CHECK(::read(reader.get(), got.data(), got.size()) == 4);
  CHECK(got.starts_with("text"));
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  CHECK(S_ISFIFO(status.st_mode));
}

TEST_CASE("write_output keeps a link into /proc and writes behind what is in its file") {
  const Scratch scratch;
  REQUIRE(write_file_atomically(scratch / "file", "first ", 0600));
  const Fd fd(::open((scratch / "file").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string link = scratch / "stdout";
  REQUIRE(::symlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), link.c_str()) == 0);
  REQUIRE(write_output(link, "second", 0600));
  CHECK(read_file(scratch / "file", 20).value() == "first second");
  CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("write_output never replaces a device and never writes onto a disk") {
  const Scratch scratch;
  const auto device = [&](const char* name, mode_t kind, unsigned major, unsigned minor) {
    const std::string path = scratch / name;
    return ::mknod(path.c_str(), kind | 0600, ::makedev(major, minor)) == 0 ? path : std::string();
  };
  const std::string null = device("null", S_IFCHR, 1, 3);
  if (null.empty() || !Fd(::open(null.c_str(), O_WRONLY | O_CLOEXEC))) {
    MESSAGE("skipped: only root may make devices, on a file system that opens them");
    return;
  }
  CHECK(write_output(null, "text", 0600));
  const std::string full = device("full", S_IFCHR, 1, 7);
  CHECK(write_output(full, "text", 0600).error().os_errno == ENOSPC);
  const std::string disk = device("disk", S_IFBLK, 240, 77);  // of no driver
  CHECK(write_output(disk, "text", 0600).error().code == Errc::kInvalidArgument);
  struct stat status{};
  for (const std::string& path : {null, full}) {
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    CHECK(S_ISCHR(status.st_mode));
  }
  REQUIRE(::lstat(disk.c_str(), &status) == 0);
  CHECK(S_ISBLK(status.st_mode));
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
