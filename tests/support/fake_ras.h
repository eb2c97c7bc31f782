#pragma once
// RAS's side of a connection (agent/evidence/ras_client.h) that does as it is told. Driven by the
// test's own loop.

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/loop.h"

namespace robustrun::test {

inline const std::string kRasReport =
    R"({"nccl_version":"2.29.2","communicators":[{"hash":"0x1","size":1,"ranks":[{"rank":0}]}]})";

inline std::optional<std::string> ras_answer(const std::string& line) {
  if (line.starts_with("CLIENT PROTOCOL")) return "SERVER PROTOCOL 2\n";
  if (line.starts_with("TIMEOUT ") || line == "SET FORMAT json") return "OK\n";
  return line == "VERBOSE STATUS" ? kRasReport : "ERROR: Unknown command\n";
}

inline std::optional<std::string> ras_silence(const std::string&) { return std::nullopt; }

// RAS's side, whose n-th connection behaves as it is told; the last behaviour stays.
class FakeRas {
 public:
  // Returns the answer to a received line; nullopt: silence; "": closes the connection.
  using Behaviour = std::function<std::optional<std::string>(const std::string& line)>;
  FakeRas(Loop& loop, std::vector<Behaviour> behaviours, const std::string& address = "127.0.0.1")
      : behaviours_(std::move(behaviours)),
        acceptor_(loop.executor(), {boost::asio::ip::make_address(address), 0}) {
    accept();
  }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  std::vector<std::string> lines;  // that were received

 private:
  using tcp = boost::asio::ip::tcp;
  using error_code = boost::system::error_code;
  struct Connection {
    tcp::socket socket;
    Behaviour behaviour;
    std::string input, output;
  };

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      const std::size_t last = std::min(connections_.size(), behaviours_.size() - 1);
      connections_.push_back(
          std::make_shared<Connection>(Connection{std::move(socket), behaviours_[last], "", ""}));
      read(connections_.back());
      accept();
    });
  }

  void read(const std::shared_ptr<Connection>& from) {
    boost::asio::async_read_until(from->socket, boost::asio::dynamic_buffer(from->input), '\n',
                                  [this, from](error_code error, std::size_t size) {
                                    if (error) return;
                                    const std::string line = from->input.substr(0, size - 1);
                                    from->input.erase(0, size);
                                    lines.push_back(line);
                                    const auto answer = from->behaviour(line);
                                    if (answer)
                                      write(from, *answer,
                                            line == "VERBOSE STATUS" || answer->empty());
                                    if (!answer) read(from);
                                  });
  }

  void write(const std::shared_ptr<Connection>& to, std::string text, bool then_close) {
    to->output = std::move(text);
    boost::asio::async_write(to->socket, boost::asio::buffer(to->output),
                             [this, to, then_close](error_code error, std::size_t) {
                               if (error) return;
                               if (!then_close) return read(to);
                               error_code ignored;
                               to->socket.close(ignored);
                             });
  }

  std::vector<Behaviour> behaviours_;
  tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace robustrun::test
