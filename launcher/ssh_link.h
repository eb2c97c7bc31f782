#pragma once
// A connection to one host that runs remote commands, one at a time, with their three streams: over
// a libssh2 session (ssh/session.h) or OpenSSH clients (openssh/link.h).
//
// To be used on the loop of its executor, which also calls handlers, never from inside a call to
// the link. Connecting ends after the connect_timeout of SshTarget or OpenSshOptions; the caller
// sets all other deadlines.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/exit_status.h"

namespace robustrun::launcher {

enum class SshTrouble : std::uint8_t {
  kNone,  // the remote command ended by itself
  kLookUp,  // the host's name is unknown
  kUnreachable,  // connection refused, no route, or no answer
  kDropped,  // the server hung up before the login (MaxStartups): worth a retry
  kHostKey,
  kLogin,
  kUnsuited,  // this transport (libssh2 or OpenSSH) cannot serve the host; the other may
  kLost,  // the connection broke while the command ran
  kOther,
};

// How a command ended, or why it could not run.
struct SshEnd {
  SshTrouble trouble = SshTrouble::kNone;
  base::ExitStatus status;  // if `trouble` is kNone
  std::string what;  // otherwise the cause, in words
  std::string errors;  // the first kErrorHeadBytes of the command's standard error
};

struct SshCommand {
  std::string text;  // for the remote login shell, or the name of a subsystem
  bool subsystem = false;
};

class SshLink {
 public:
  struct Handlers {
    std::function<void(std::string_view)> on_output;  // standard output, in pieces
    std::function<void(const SshEnd&)> on_end;  // once, as the last handler
  };
  virtual ~SshLink() = default;
  // Connects if necessary. The previous command must have ended.
  virtual void run(const SshCommand& command, Handlers handlers) = 0;
  // Writes to the command's standard input; may be called right after run(). Bytes that the command
  // does not read before it ends are lost.
  virtual void write(std::string bytes) = 0;
  // Ends the command's standard input, after all that was written.
  virtual void close_input() = 0;
  // Closes the connection for good; a remote command may continue. No handler is called afterwards.
  virtual void close() = 0;
};

}  // namespace robustrun::launcher
