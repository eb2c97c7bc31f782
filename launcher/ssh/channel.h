#pragma once
// One remote command on a logged-in libssh2 session: opens a channel, starts the command, moves its
// streams, and learns how it ended.
//
// Its session calls step(), which does what can be done now. Only for the libssh2 code of
// launcher/.

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/ssh_link.h"

struct _LIBSSH2_SESSION;
struct _LIBSSH2_CHANNEL;

namespace robustrun::launcher {

class SshChannel {
 public:
  // What the caller of step() has to do next. kAgain: call step() again now. kWaitForSocket: call
  // step() again when the socket is ready. kEnded: read status(). kFailed: ask libssh2 for the
  // error.
  enum class Outcome : std::uint8_t { kAgain, kWaitForSocket, kEnded, kFailed };

  // `still_wanted` is called after each piece of output. If it returns false, because the reader
  // has closed the link, step() returns at once.
  SshChannel(_LIBSSH2_SESSION* session, SshCommand command,
             std::function<void(std::string_view)> on_output, std::function<bool()> still_wanted);
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  ~SshChannel() = default;  // libssh2 frees its channels with the session

  Outcome step();
  void write(std::string bytes) { pending_ += bytes; }
  void close_input() { input_ends_ = true; }
  // Whether no piece of the input is half-sent, so that the session may send a keepalive.
  [[nodiscard]] bool at_rest() const { return !sending_; }
  [[nodiscard]] const base::ExitStatus& status() const { return status_; }  // after kEnded
  // The first kErrorHeadBytes of the command's standard error.
  [[nodiscard]] const std::string& errors() const { return errors_; }

 private:
  enum class State : std::uint8_t { kOpening, kStarting, kRunning, kClosing, kFreeing, kEnded };
  Outcome open();
  Outcome start();
  Outcome pump();
  Outcome wait_closed();
  Outcome free();
  [[nodiscard]] bool send(Outcome& outcome);
  [[nodiscard]] bool receive(int stream, Outcome& outcome);
  [[nodiscard]] Outcome judge(long rc) const;

  _LIBSSH2_SESSION* session_;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  SshCommand command_;
  std::function<void(std::string_view)> on_output_;
  std::function<bool()> still_wanted_;
  State state_ = State::kOpening;
  std::string pending_;  // to be written
  std::string in_flight_;  // passed to libssh2, which must be given the same bytes again
  std::size_t sent_ = 0;  // of in_flight_
  bool sending_ = false;
  bool input_ends_ = false;
  bool input_ended_ = false;
  std::string errors_;
  base::ExitStatus status_;
};

}  // namespace robustrun::launcher
