#pragma once
// The console of a run whose supervisor somebody else started: shown here as it comes.
//
// For `robustrun attach` and for the start of a detached run. Blocking. The run is never held up by
// how fast we show it: what we miss is counted, and said.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/control/client.h"
#include "supervisor/control/operation_request.h"

namespace robustrun::cli {

// Signals of this process as something that can be read; they do nothing else from then on.
class SignalReader {
 public:
  static base::Result<SignalReader> open(std::initializer_list<int> signals);
  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next one that came; 0: none.
  [[nodiscard]] int take() const;

 private:
  explicit SignalReader(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

struct Followed {
  enum class End : std::uint8_t {
    kRunEnded,  // `exit_code` is the run's
    kUp,  // all of its workers are there
    kInterrupted,  // by a signal, perhaps in the middle of a line
    kReaderGone,  // nobody reads our standard output or error any more
    kLost,  // the supervisor is gone, or does not answer: `error` says it
  };
  End end = End::kLost;
  int exit_code = 0;
  std::optional<base::Error> error;
};

class Follower {
 public:
  // Both outlive it. `lines` of history come first.
  Follower(supervisor::ControlClient& client, const SignalReader& signals, std::uint64_t lines);
  // Shows what comes, until the run's end, or until its workers are there: then all of it on
  // standard error, in whole lines. May be called again.
  Followed follow(bool until_up);

 private:
  // False: Followed tells why.
  bool show(const supervisor::OutputNews& news, bool all_on_stderr, Followed& followed);
  bool write(int fd, std::string_view bytes, Followed& followed);

  supervisor::ControlClient& client_;
  const SignalReader& signals_;
  supervisor::OutputQuestion question_;
  bool in_line_ = false;
};

}  // namespace robustrun::cli
