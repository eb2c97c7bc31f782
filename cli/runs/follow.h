#pragma once
// Shows the console of a run whose supervisor is another process.
//
// For `robustrun attach` and for the start of a detached run. Blocking. Never delays the run:
// output that was missed is counted and reported.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/control/client.h"
#include "supervisor/control/operation_request.h"

namespace robustrun::cli {

// Signals of this process as a readable descriptor; from open() on they have no other effect.
class SignalReader {
 public:
  static base::Result<SignalReader> open(std::initializer_list<int> signals);
  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next pending signal; 0: none.
  [[nodiscard]] int take() const;

 private:
  explicit SignalReader(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

struct Followed {
  enum class End : std::uint8_t {
    kRunEnded,  // with `exit_code`
    kUp,  // all workers are running
    kInterrupted,  // by a signal, perhaps within a line
    kReaderGone,  // the reader of our standard output or error has closed it
    kLost,  // the supervisor is gone or does not answer: see `error`
  };
  End end = End::kLost;
  int exit_code = 0;
  std::optional<base::Error> error;
};

class Follower {
 public:
  // `client` and `signals` must outlive the follower. The last `lines` lines of earlier
  // output are shown first.
  Follower(supervisor::ControlClient& client, const SignalReader& signals, std::uint64_t lines);
  // Shows output until the run ends. With `until_up`, shows it on standard error until all workers
  // run, and then ends the last line. May be called again.
  Followed follow(bool until_up);

 private:
  // Return false if showing must end, with the reason in `followed`.
  bool show(const supervisor::OutputNews& news, bool all_on_stderr, Followed& followed);
  bool write(int fd, std::string_view bytes, Followed& followed);

  supervisor::ControlClient& client_;
  const SignalReader& signals_;
  supervisor::OutputQuestion question_;
  bool in_line_ = false;
};

}  // namespace robustrun::cli
