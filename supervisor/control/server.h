#pragma once
// The running supervisor's server for other commands of this user: a private unix socket, whose
// path is in the file `control` in the run directory.
//
// A table has a row for each "command" that a request may name. Owned by driver/run_control.h, on
// the driver's loop. Format and limits: docs/formats/control-socket.md.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/request_socket.h"
#include "supervisor/control/json.h"

namespace robustrun::supervisor {

class ControlServer {
 public:
  // Row::answer calls its `reply` once, at once or later, with a whole JSON object.
  using Reply = base::RequestSocket::Reply;
  struct Row {
    std::string command;
    std::function<void(const ControlFields& request, Reply reply)> answer;
  };
  struct Place {
    std::string run_directory;              // where the file `control` is written, 0600
    std::string run_name;                   // part of the socket's name
    std::vector<std::string> environment;   // for XDG_RUNTIME_DIR
  };
  static base::Result<std::unique_ptr<ControlServer>> open(boost::asio::any_io_executor executor,
                                                           const Place& place,
                                                           std::vector<Row> rows);
  // Removes socket and file. No request is answered afterwards.
  virtual ~ControlServer() = default;
};

// A path within `base`, at most 34 bytes longer than `base`, as the path of a unix socket has at
// most 107 bytes.
[[nodiscard]] std::string control_socket_path(const std::string& base,
                                              const std::string& run_directory,
                                              const std::string& run_name);

}  // namespace robustrun::supervisor
