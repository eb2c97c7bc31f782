#pragma once
// A test's event loop: runs handlers until a condition holds or a deadline passes.

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace robustrun::test {

class Loop {
 public:
  [[nodiscard]] boost::asio::any_io_executor executor() { return io_.get_executor(); }

  template <class Condition>
  [[nodiscard]] bool run_until(Condition condition,
                               std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      if (io_.stopped()) io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  // Runs handlers until nothing is left to wait for.
  void run_out() {
    io_.restart();
    io_.run();
  }

  // Runs at least what is due within this time, even if the process sleeps for longer than that.
  void run_for(std::chrono::milliseconds time) {
    static_cast<void>(run_until([] { return false; }, time));
    if (io_.stopped()) io_.restart();
    io_.poll();
  }

 private:
  boost::asio::io_context io_{1};
};

}  // namespace robustrun::test
