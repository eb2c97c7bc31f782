#pragma once
// Client of the control server (server.h), for the command line: blocking, one request at a time.

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "supervisor/control/json.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

class ControlClient {
 public:
  // kNotFound: no process listens, as the run has ended, or its supervisor is dead or on another
  // machine. kPermission: another user's process listens, or the directory is another user's.
  // kTimeout: the supervisor takes no connection now.
  static base::Result<ControlClient> connect(const std::string& run_directory);

  // Once `fd` is readable, the calls below return at once: with kCancelled, and wait() with false.
  // `fd` is not owned; -1: nothing interrupts the calls.
  void interrupt_by(int fd) { interrupt_fd_ = fd; }

  // How long each answer may take from now on.
  void wait_at_most(base::Nanos time) { answer_max_ = time; }

  // Returns the answer's fields. kInvalidArgument: a refusal, with the refusal's text;
  // kUnavailable: the supervisor has ended; kTimeout: no answer in time (the client cannot be used
  // any more).
  base::Result<ControlFields> ask(const ControlFields& request);
  // The text of the answer as it came, also that of a refusal.
  base::Result<std::string> ask_text(const ControlFields& request);
  // Returns true after `time`; false as soon as the supervisor is gone.
  bool wait(base::Nanos time);
  // Waits until the supervisor's process has ended; if that cannot be watched, until its connection
  // has closed. kTimeout, kCancelled.
  base::Status wait_for_end(base::Nanos time);
  [[nodiscard]] std::int32_t peer_pid() const { return peer_pid_; }  // 0: not known

 private:
  explicit ControlClient(base::Fd fd) : fd_(std::move(fd)) {}
  void watch_peer();
  base::Result<std::string> read_answer(base::Nanos until);
  // True: there is something to read, or the peer is gone. False: the time is over.
  base::Result<bool> readable(int fd, base::Nanos until) const;
  base::Fd fd_;
  base::Fd peer_;  // pidfd of the supervisor; none if not available
  std::int32_t peer_pid_ = 0;
  int interrupt_fd_ = -1;
  base::Nanos answer_max_ = kControlAnswerMax;
};

}  // namespace robustrun::supervisor
