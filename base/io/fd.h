#pragma once
// The owner of one file descriptor, and functions that read and write files. All descriptors made
// here are CLOEXEC.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/core/result.h"

namespace robustrun::base {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct FdPair {
  Fd first;
  Fd second;
};

Result<FdPair> make_pipe();                  // first: read end
Result<FdPair> make_socket_pair(int type);   // AF_UNIX; SOCK_STREAM or SOCK_SEQPACKET
Status set_nonblocking(int fd, bool on);

// Writes all of `bytes` to a blocking descriptor. After an error any part of them may have been
// written.
Status write_all(int fd, std::string_view bytes);
enum class Links : unsigned char { kFollow, kRefuse };
// Reads a regular file of at most `limit` bytes. kLimit: it is longer. Never waits for a FIFO and
// never reads a device: kCorrupt for such a `path`, but /dev/null counts as an empty file. With
// kRefuse a symbolic link is refused: kOs with os_errno ELOOP.
Result<std::string> read_file(const std::string& path, std::size_t limit,
                              Links links = Links::kFollow);
// As read_file(), for a file that the user names on the command line: a pipe, as of `<(command)`,
// is read, too. kTimeout: nothing came through it for kInputWait (base/io/limits.h).
Result<std::string> read_input(const std::string& path, std::size_t limit);
// Opens a regular file for reading. Never waits for a FIFO or a device: kCorrupt for such a `path`.
// With kRefuse a symbolic link is refused, as by read_file().
Result<Fd> open_regular(const std::string& path, Links links = Links::kFollow);
// Replaces `path` through a temporary file in the same folder and rename(): a reader sees either
// the old or the new bytes. Not synced to the disk.
Status write_file_atomically(const std::string& path, std::string_view bytes, unsigned mode);
// As write_file_atomically(), for a file that the user names. A character device, a FIFO or a link
// into /proc (/dev/stdout) stays and is written in place. kUnavailable: a FIFO without a reader;
// kTimeout: a reader took nothing for kOutputWait (base/io/limits.h); kInvalidArgument: a block
// device, whose data would be lost.
Status write_output(const std::string& path, std::string_view bytes, unsigned mode);
// mkdir -p; every folder that is created gets `mode`, less the umask.
Status make_directories(const std::string& path, unsigned mode);

}  // namespace robustrun::base
