#pragma once
// Runs a program that may hang (an interpreter on a dead mount, a GPU library) below a shim and
// returns its output. No process of the program outlives the answer, the deadline or this agent.
//
// Used on the loop of `executor`, in a process that is a subreaper (shim_link.h). The caller owns
// the AskedProgram; its destruction kills the program, and `done` is not called any more.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/limits.h"
#include "base/core/result.h"

namespace robustrun::agent {

struct Question {
  std::string shim;  // absolute path of robustrun-shim
  std::vector<std::string> argv;  // the program's
  std::vector<std::string> environment;  // NAME=VALUE, complete
  std::string working_directory;  // empty: the agent's
  std::chrono::milliseconds within{};  // 0: no deadline
  std::size_t answer_max = kAnswerBytesMax;  // further output is dropped
  bool any_end = false;  // every exit code counts as success
  pid_t container = 0;  // pid whose namespaces the program enters; 0: none
  // If set: gets the output in pieces, from the loop; may destroy the AskedProgram. `done` then
  // gets only the last piece.
  std::function<void(std::string_view)> on_text{};
};

class AskedProgram {
 public:
  // The program's standard output and standard error, at most `answer_max` bytes, if it exited with
  // 0. kTimeout: it did not end in time. kNotFound: the program is missing. Other errors: it could
  // not be started, or it ended otherwise (kUnavailable). If it ran, the error quotes the last line
  // of its output.
  using Done = std::function<void(base::Result<std::string>)>;

  // `done` is called from the loop, even if the start fails.
  static std::unique_ptr<AskedProgram> ask(boost::asio::any_io_executor executor, Question question,
                                           Done done);
  virtual ~AskedProgram() = default;
};

}  // namespace robustrun::agent
