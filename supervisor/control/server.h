#pragma once
// The running supervisor's server for other commands of this user: a private unix socket; the file
// `control` in the run directory holds its path.
//
// Requests are rows of a table, by their "command". Owned by driver/run_control.h, on the driver's
// loop. Format and limits: docs/formats/control-socket.md.

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
  // `reply` is called once, at once or later, with a whole JSON object.
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
  // No request is answered afterwards; socket and file are removed.
  virtual ~ControlServer() = default;
};

// A path within `base`, short enough for a socket's 107 bytes whatever the run's name.
[[nodiscard]] std::string control_socket_path(const std::string& base,
                                              const std::string& run_directory,
                                              const std::string& run_name);

}  // namespace robustrun::supervisor
