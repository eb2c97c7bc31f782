#include "launcher/ssh/agent_client.h"

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "launcher/limits.h"
#include "launcher/ssh_encoding.h"

namespace robustrun::launcher {
namespace {

using base::Errc;
using boost::system::error_code;
using Stream = boost::asio::local::stream_protocol;

constexpr std::uint8_t kRequestIdentities = 11;
constexpr std::uint8_t kIdentitiesAnswer = 12;
constexpr std::uint8_t kSignRequest = 13;
constexpr std::uint8_t kSignResponse = 14;

std::unexpected<base::Error> trouble(const std::string& cause) {
  return base::fail(Errc::kUnavailable, "cannot ask the ssh-agent: " + cause);
}

base::Result<std::vector<SshAgentKey>> parse_keys(std::string_view answer) {
  SshReader reader(answer);
  if (reader.u8() != kIdentitiesAnswer) return trouble("it does not list its keys");
  const std::uint32_t count = reader.u32().value_or(0);
  std::vector<SshAgentKey> keys;
  for (std::uint32_t i = 0; i < count && keys.size() < kSshAgentKeysMax; ++i) {
    const auto blob = reader.text();
    const auto comment = reader.text();
    if (!blob || !comment) return trouble("its answer is cut short");
    keys.push_back({std::string(*blob), std::string(*comment)});
  }
  return keys;
}

base::Result<std::string> parse_signature(std::string_view answer) {
  SshReader reader(answer);
  if (reader.u8() != kSignResponse) return trouble("it refuses to sign");
  SshReader signature(reader.text().value_or(""));
  signature.text();  // the algorithm
  const auto bytes = signature.text();
  if (!bytes) return trouble("its signature is cut short");
  return std::string(*bytes);
}

class Client final : public SshAgentClient, public std::enable_shared_from_this<Client> {
 public:
  Client(const boost::asio::any_io_executor& executor, std::string path)
      : socket_(executor), path_(std::move(path)) {}

  void list(std::function<void(base::Result<std::vector<SshAgentKey>>)> done) override {
    on_answer_ = [done = std::move(done)](base::Result<std::string> answer) {
      if (answer) return done(parse_keys(*answer));
      done(std::unexpected(std::move(answer).error()));
    };
    // Asio throws when the path is too long for a socket's address.
    if (path_.size() >= sizeof(sockaddr_un::sun_path)) {
      return boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->finish(trouble("its path is too long"));
      });
    }
    socket_.async_connect(Stream::endpoint(path_), [self = shared_from_this()](error_code error) {
      if (error) return self->finish(trouble(error.message()));
      self->ask(std::string(1, static_cast<char>(kRequestIdentities)));
    });
  }

  void sign(const std::string& blob, std::string_view data,
            std::function<void(base::Result<std::string>)> done) override {
    on_answer_ = [done = std::move(done)](base::Result<std::string> answer) {
      if (answer) return done(parse_signature(*answer));
      done(std::move(answer));
    };
    std::string request(1, static_cast<char>(kSignRequest));
    put_text(request, blob);
    put_text(request, data);
    put_u32(request, 0);
    ask(request);
  }

  void close() override {
    on_answer_ = nullptr;
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void ask(const std::string& request) {
    bytes_.clear();
    put_text(bytes_, request);
    boost::asio::async_write(socket_, boost::asio::buffer(bytes_),
                             [self = shared_from_this()](error_code error, std::size_t) {
                               if (error) return self->finish(trouble(error.message()));
                               self->read_size();
                             });
  }

  void read_size() {
    boost::asio::async_read(socket_, boost::asio::buffer(size_),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (error) return self->finish(trouble(error.message()));
                              self->read_answer();
                            });
  }

  void read_answer() {
    const std::size_t size = SshReader({size_.data(), size_.size()}).u32().value_or(0);
    if (size == 0 || size > kSshAgentReplyMax) return finish(trouble("its answer has no fit size"));
    bytes_.assign(size, '\0');
    boost::asio::async_read(socket_, boost::asio::buffer(bytes_),
                            [self = shared_from_this()](error_code error, std::size_t) {
                              if (error) return self->finish(trouble(error.message()));
                              self->finish(std::move(self->bytes_));
                            });
  }

  void finish(base::Result<std::string> answer) {
    const auto on_answer = std::exchange(on_answer_, nullptr);
    if (on_answer) on_answer(std::move(answer));
  }

  Stream::socket socket_;
  std::string path_;
  std::string bytes_;  // the request, then the answer
  std::array<char, 4> size_{};
  std::function<void(base::Result<std::string>)> on_answer_;
};

}  // namespace

std::shared_ptr<SshAgentClient> SshAgentClient::make(boost::asio::any_io_executor executor,
                                                     std::string socket_path) {
  return std::make_shared<Client>(executor, std::move(socket_path));
}

}  // namespace robustrun::launcher
