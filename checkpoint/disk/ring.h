#pragma once
// io_uring for one thread: a large read or write goes to the kernel as several at once. Memory is
// registered when it is first seen, where the limit on locked memory allows it. (Axboe, "Efficient
// IO with io_uring", 2019.) Where the kernel denies io_uring (old, a seccomp profile like Docker's,
// kernel.io_uring_disabled) there is none.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace robustrun::checkpoint {

class Ring {
 public:
  // That of the calling thread, made when first asked for; null where it is denied.
  static Ring* of_this_thread();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  // Bytes from the first on that were transferred (fewer than asked for: the disk is full, the file
  // ends), or a negative errno.
  ssize_t write(int fd, std::uint64_t offset, const char* memory, std::size_t bytes);
  ssize_t read(int fd, std::uint64_t offset, char* memory, std::size_t bytes);

 private:
  struct State;
  Ring();
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
