#include "checkpoint/disk/ring.h"

#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/core/result.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

constexpr unsigned kDepth = 8;  // requests at once

struct Part {
  std::size_t wanted = 0;
  int result = 0;
};

}  // namespace

struct Ring::State {
  io_uring ring{};
  char* registered = nullptr;
  std::size_t registered_bytes = 0;
  bool may_register = true;
  bool usable = false;
  std::array<Part, kDepth> parts{};  // not on the stack: completions point to them

  State() { usable = io_uring_queue_init(kDepth, &ring, 0) == 0; }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (usable) io_uring_queue_exit(&ring);
  }

  bool is_registered(char* memory, std::size_t bytes) {
    const auto within = [&] {
      return registered != nullptr && memory >= registered &&
             memory + bytes <= registered + registered_bytes;
    };
    if (within() || !may_register) return within();
    if (registered != nullptr) io_uring_unregister_buffers(&ring);
    const iovec range{memory, bytes};
    may_register = io_uring_register_buffers(&ring, &range, 1) == 0;
    registered = may_register ? memory : nullptr;
    registered_bytes = bytes;
    return may_register;
  }

  void ask(bool is_write, bool fixed, int fd, std::uint64_t offset, char* memory, std::size_t bytes,
           Part& part) {
    io_uring_sqe* const request = io_uring_get_sqe(&ring);
    RR_ASSERT(request != nullptr);  // never more than kDepth at once
    const auto size = static_cast<unsigned>(bytes);
    if (is_write && fixed) io_uring_prep_write_fixed(request, fd, memory, size, offset, 0);
    if (is_write && !fixed) io_uring_prep_write(request, fd, memory, size, offset);
    if (!is_write && fixed) io_uring_prep_read_fixed(request, fd, memory, size, offset, 0);
    if (!is_write && !fixed) io_uring_prep_read(request, fd, memory, size, offset);
    io_uring_sqe_set_data(request, &part);
    part.wanted = bytes;
  }

  // All requests complete, even after one fails: the kernel uses their memory until then.
  int await(unsigned count) {
    while (count > 0) {
      const int submitted = io_uring_submit_and_wait(&ring, 1);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
        usable = false;  // some may still be in flight: the ring is not used again
        return submitted;
      }
      io_uring_cqe* answer = nullptr;
      while (io_uring_peek_cqe(&ring, &answer) == 0) {
        static_cast<Part*>(io_uring_cqe_get_data(answer))->result = answer->res;
        io_uring_cqe_seen(&ring, answer);
        --count;
      }
    }
    return 0;
  }

  ssize_t transfer(bool is_write, int fd, std::uint64_t offset, char* memory, std::size_t bytes) {
    parts = {};
    const bool fixed = is_registered(memory, bytes);
    const std::size_t share = (bytes / kDepth + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t each = std::max<std::size_t>(kBlockBytes, share);
    unsigned count = 0;
    for (std::size_t at = 0; at < bytes; at += each) {
      ask(is_write, fixed, fd, offset + at, memory + at, std::min(each, bytes - at),
          parts[count++]);
    }
    if (const int failed = await(count); failed < 0) return failed;
    ssize_t done = 0;
    for (const Part& part : parts) {
      if (part.result < 0) return done > 0 ? done : part.result;
      done += part.result;
      if (static_cast<std::size_t>(part.result) < part.wanted) break;
    }
    return done;
  }
};

Ring* Ring::of_this_thread() {
  static thread_local Ring ring;
  return ring.state_->usable ? &ring : nullptr;
}

Ring::Ring() : state_(std::make_unique<State>()) {}
Ring::~Ring() = default;

ssize_t Ring::write(int fd, std::uint64_t offset, const char* memory, std::size_t bytes) {
  return state_->transfer(true, fd, offset, const_cast<char*>(memory), bytes);
}

ssize_t Ring::read(int fd, std::uint64_t offset, char* memory, std::size_t bytes) {
  return state_->transfer(false, fd, offset, memory, bytes);
}

}  // namespace robustrun::checkpoint
