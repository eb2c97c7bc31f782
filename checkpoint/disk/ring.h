#pragma once
// io_uring for one thread: a large read or write goes to the kernel as several requests at once
// (Axboe, "Efficient IO with io_uring", 2019). Memory is registered with the kernel on first use,
// if the limit on locked memory allows it. There is no ring where the kernel denies io_uring (old
// kernels, a seccomp profile like Docker's, kernel.io_uring_disabled).

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace robustrun::checkpoint {

class Ring {
 public:
  // The calling thread's ring, created on first use; null if io_uring is denied or has failed.
  static Ring* of_this_thread();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  // Return the number of bytes transferred, or a negative errno. There are fewer than requested if
  // the disk is full or the file ends.
  ssize_t write(int fd, std::uint64_t offset, const char* memory, std::size_t bytes);
  ssize_t read(int fd, std::uint64_t offset, char* memory, std::size_t bytes);

 private:
  struct State;
  Ring();
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
