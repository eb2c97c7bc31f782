// robustrun-blocks: an image as one file of a FUSE file system (docs/formats/block-server.md).

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string_view>

#include "bootstrap/blocks/options.h"
#include "bootstrap/blocks/server.h"

namespace {

// Libraries report by exceptions alone that there are no threads or no memory left. Without
// unwinding, which would wait for threads that run.
[[noreturn]] void end_with_reason() noexcept {
  const auto thrown = std::current_exception();
  if (!thrown) std::abort();
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "robustrun-blocks: cannot go on: %s; the limit of processes (`ulimit -u`) or of "
                 "memory may be too low\n",
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "robustrun-blocks: cannot go on: unknown exception\n");
  }
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace robustrun::bootstrap;
  std::set_terminate(end_with_reason);
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "--version") {
    fmt::print("robustrun-blocks " ROBUSTRUN_VERSION "\n");
    return 0;
  }
  if (verb != "serve") {
    fmt::print(verb == "--help" ? stdout : stderr, "{}", serve_usage());
    return verb == "--help" ? 0 : 2;
  }
  const auto options = parse_serve_options(std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
  if (!options) {
    fmt::print(stderr, "robustrun-blocks: {}\n{}", options.error().what, serve_usage());
    return 2;
  }
  const auto served = serve(*options);
  if (!served) fmt::print(stderr, "robustrun-blocks: {}\n", served.error().what);
  std::fflush(nullptr);
  std::_Exit(served ? 0 : 1);  // a thread may hang in a dead file system
}
