#include "supervisor/control/server.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/core/clock.h"
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
    handlers.too_many = control_refusal(
        fmt::format("the run's supervisor is busy: {} programs keep a connection to it; try again",
                    kControlConnectionsMax));
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

namespace {

bool is_dead(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  // A young one may not listen yet.
  const base::Nanos made = std::chrono::seconds(status.st_mtim.tv_sec);
  if (base::SystemClock().wall_time() - made < kControlSocketYoung) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd &&
         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

// A supervisor that was killed leaves its socket.
void remove_dead_sockets(const std::string& base) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(base, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (is_dead(path)) ::unlink(path.c_str());
  }
}

}  // namespace

base::Result<std::unique_ptr<ControlServer>> ControlServer::open(
    boost::asio::any_io_executor executor, const Place& place, std::vector<Row> rows) {
  const std::string base = base::private_base_directory(place.environment);
  RR_TRY(base::make_private_directory(base));
  remove_dead_sockets(base);
  auto server =
      std::make_unique<ControlServerImpl>(std::move(rows), control_file(place.run_directory));
  RR_TRY(server->serve(executor, control_socket_path(base, place.run_directory, place.run_name)));
  return server;
}

}  // namespace robustrun::supervisor
