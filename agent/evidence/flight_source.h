#pragma once
// Asks a worker for what torch's Flight Recorder holds: one HTTP request over the Unix socket that
// the boot module has torch's worker server listen on (python/robustrun/_record/flight.py).
//
// Who does not answer is told by its last words: the same, in a file, left by a worker that ended
// by an exception. Owned by who watches the worker, on the agent's loop; the answer is read on the
// pool, because it takes milliseconds. The worker is never trusted: whatever it answers, or if it
// never does, `done` comes within the time, and the answer is bounded. RFC 9112 as far as that
// server needs it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "tracer/flight_memberships.h"

namespace robustrun::agent {

class FlightSource {
 public:
  struct Question {
    std::vector<tracer::KnownGroup> known;  // from the worker's record
    base::Nanos within{};  // for the answer to arrive
  };
  // Of a worker without last words. kNotFound: no server there (torch without one, no process group
  // yet, or it has ended); kTimeout; kLimit: larger than kFlightAnswerBytesMax; kCorrupt;
  // kUnavailable: it hung up, or refused.
  using Done = std::function<void(base::Result<std::vector<tracer::Membership>>)>;

  // `path`: the socket, which need not be there yet. `last_words`: the file; empty: none.
  static std::unique_ptr<FlightSource> make(NodeContext& node, std::string path, base::Rank rank,
                                            std::string last_words = {});
  // Destroying it drops what is under way: no `done` is called any more.
  virtual ~FlightSource() = default;
  // `done` comes once, from the loop, never from within ask(). One question at a time.
  virtual void ask(Question question, Done done) = 0;
  [[nodiscard]] virtual bool is_asking() const = 0;
};

// An answer of HTTP as far as it has come. Pure.
struct HttpProgress {
  bool is_whole = false;
  std::size_t body_at = 0;
  std::size_t body_size = 0;
};
// kNotFound: status 404, kUnavailable: another one; kCorrupt: no HTTP; kLimit: it announces more
// than kFlightAnswerBytesMax, or its head is too long.
base::Result<HttpProgress> look_at_http(std::string_view bytes);

}  // namespace robustrun::agent
