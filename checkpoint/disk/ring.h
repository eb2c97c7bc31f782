#pragma once
// io_uring for one thread: a large read or write goes to the kernel as several requests at once.
// Memory is registered on first use if the limit on locked memory allows it. (Axboe, "Efficient IO
// with io_uring", 2019.) There is no ring where the kernel denies io_uring (old kernels, a seccomp
// profile like Docker's, kernel.io_uring_disabled).

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

  // Return the number of bytes transferred from the start (fewer than requested: the disk is full
  // or the file ends), or a negative errno.
  ssize_t write(int fd, std::uint64_t offset, const char* memory, std::size_t bytes);
  ssize_t read(int fd, std::uint64_t offset, char* memory, std::size_t bytes);

 private:
  struct State;
  Ring();
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
