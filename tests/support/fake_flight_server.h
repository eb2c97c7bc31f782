#pragma once
// A worker's end of flight_source.h that does as it is told: answers whole, in pieces, or badly.
// Driven by the test's own loop.

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

namespace robustrun::test {

inline std::string http_answer(const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status +
         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nContent-Type: application/json\r\n\r\n" + body;
}

class FakeFlightServer {
 public:
  using Protocol = boost::asio::local::stream_protocol;

  FakeFlightServer(const boost::asio::any_io_executor& executor, const std::string& path)
      : acceptor_(executor, Protocol::endpoint(path)) {
    accept();
  }

  std::function<std::string()> answer = [] { return http_answer("{}"); };
  std::function<std::string(const std::string& question)> answer_to;  // instead
  std::size_t piece_bytes = 1 << 16;  // of one write
  bool hangs_up = true;               // when the answer is written
  bool listens_to_questions = true;
  std::string heard;                  // of all questions
  unsigned questions = 0;

 private:
  struct Connection {
    explicit Connection(Protocol::socket s) : socket(std::move(s)) {}
    Protocol::socket socket;
    std::array<char, 4096> chunk{};
    std::string heard;
    std::string rest;
  };

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, Protocol::socket socket) {
      if (error) return;
      connections_.push_back(std::make_shared<Connection>(std::move(socket)));
      if (listens_to_questions) listen(connections_.back());
      accept();
    });
  }

  void listen(const std::shared_ptr<Connection>& one) {
    one->socket.async_read_some(boost::asio::buffer(one->chunk),
                                [this, one](boost::system::error_code error, auto size) {
                                  if (error) return;
                                  one->heard.append(one->chunk.data(), size);
                                  if (!one->heard.ends_with("\r\n\r\n")) return listen(one);
                                  heard += one->heard;
                                  ++questions;
                                  one->rest = answer_to ? answer_to(one->heard) : answer();
                                  write(one);
                                });
  }

  void write(const std::shared_ptr<Connection>& one) {
    if (one->rest.empty()) {
      if (hangs_up) one->socket.close();
      return;
    }
    auto piece = std::make_shared<std::string>(one->rest.substr(0, piece_bytes));
    one->rest.erase(0, piece->size());
    boost::asio::async_write(one->socket, boost::asio::buffer(*piece),
                             [this, one, piece](boost::system::error_code error, std::size_t) {
                               if (!error) write(one);
                             });
  }

  Protocol::acceptor acceptor_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace robustrun::test
