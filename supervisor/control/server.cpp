#include "supervisor/control/server.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "supervisor/control/file.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

class ControlServerImpl final : public ControlServer {
 public:
  ControlServerImpl(std::vector<Row> rows, std::string file)
      : rows_(std::move(rows)), file_(std::move(file)) {}
  ~ControlServerImpl() override { ::unlink(file_.c_str()); }

  base::Status serve(const boost::asio::any_io_executor& executor, const std::string& socket) {
    base::RequestSocket::Handlers handlers;
    handlers.on_message = [this](std::string_view message, Reply reply) {
      answer(message, std::move(reply));
    };
    handlers.too_long =
        control_refusal(fmt::format("a message has at most {} bytes", kControlMessageBytesMax));
    socket_ = RR_TRY(base::RequestSocket::open(
        executor, socket, {kControlMessageBytesMax, kControlConnectionsMax, kControlMessageTime},
        std::move(handlers)));
    const ControlFile file{socket, this_host(), ::getpid()};
    return base::write_file_atomically(file_, write_control_file(file), 0600);
  }

 private:
  void answer(std::string_view message, Reply reply) {
    const auto fields = read_control_message(message);
    if (!fields) return reply(control_refusal(fields.error().what), nullptr);
    const auto named = fields->find("command");
    const std::string command = named == fields->end() ? std::string() : named->second;
    const auto row = std::ranges::find(rows_, command, &Row::command);
    if (row != rows_.end()) return row->answer(*fields, std::move(reply));
    reply(control_refusal(fmt::format("this robustrun knows no command '{}'",
                                      base::printable(command.substr(0, kShownWordBytes)))),
          nullptr);
  }

  std::vector<Row> rows_;
  std::string file_;
  std::unique_ptr<base::RequestSocket> socket_;
};

}  // namespace

std::string control_socket_path(const std::string& base, const std::string& run_directory,
                                const std::string& run_name) {
  std::string shown = run_name.substr(0, kShownWordBytes);
  std::ranges::replace_if(
      shown, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '_');
  return fmt::format("{}/{}.{:08x}", base, shown, base::hash64(run_directory) & 0xFFFFFFFF);
}

base::Result<std::unique_ptr<ControlServer>> ControlServer::open(
    boost::asio::any_io_executor executor, const Place& place, std::vector<Row> rows) {
  const std::string base = base::private_base_directory(place.environment);
  RR_TRY(base::make_private_directory(base));
  auto server =
      std::make_unique<ControlServerImpl>(std::move(rows), control_file(place.run_directory));
  RR_TRY(server->serve(executor, control_socket_path(base, place.run_directory, place.run_name)));
  return server;
}

}  // namespace robustrun::supervisor
