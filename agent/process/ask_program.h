#pragma once
// Runs a program that may hang (an interpreter on a dead mount, a GPU library) below a shim and
// returns its output. Nothing of it outlives the answer, the deadline or this agent.
//
// To be used on the loop of its executor, in a process that is a subreaper (shim_link.h). Owned by
// its caller: once it is destroyed, `done` is not called any more and the program is killed.

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
  std::string working_directory;
  std::chrono::milliseconds within{};  // 0: without a deadline
  std::size_t answer_max = kAnswerBytesMax;  // the rest is read and dropped
  bool any_end = false;  // the output is the answer, whatever the exit code
  pid_t container = 0;  // whose namespaces the program enters; 0: none
  // Gets the output as it comes, from the loop; may destroy the AskedProgram. Only the last piece
  // is kept then.
  std::function<void(std::string_view)> on_text{};
};

class AskedProgram {
 public:
  // The program's standard output and standard error, at most `answer_max` bytes, when it ended
  // with 0. kTimeout: no end within the time; kNotFound, or another error with errno: the program
  // could not be started; kUnavailable: it ended otherwise. The errors quote its last line, if
  // there is one.
  using Done = std::function<void(base::Result<std::string>)>;

  // `done` comes from the loop, even when starting fails.
  static std::unique_ptr<AskedProgram> ask(boost::asio::any_io_executor executor, Question question,
                                           Done done);
  virtual ~AskedProgram() = default;
};

}  // namespace robustrun::agent
