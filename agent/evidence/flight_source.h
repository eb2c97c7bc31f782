#pragma once
// Asks a worker for the content of torch's Flight Recorders: one HTTP request for each, over the
// Unix socket on which the boot module has torch's worker server listen
// (python/robustrun/_diagnose/flight.py).
//
// gloo has a recorder, and each back end that torch records from outside (nccl2, nccl-lazy) its
// own. The recorder of the older NCCL group is not asked: that can break a CUDA graph's capture. A
// recorder that the worker's torch does not have is asked until that shows: the answer is 404, or
// has gloo's entries. For a worker that does not answer there may be its last dump: the same
// content, in files, left by a worker that ended by an exception. Owned by the CollectiveWatch, on
// the agent's loop; the answer is read on the pool, because that takes milliseconds. The worker is
// never trusted: its answer is bounded, and `done` comes in time even if there is no answer. RFC
// 9112 as far as that server needs it.

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
    base::Nanos within{};  // for the answers to arrive
    bool nccl = false;     // ask nccl2 and nccl-lazy, too: our plugin does not see NCCL there
  };
  // The answer has whatever was read; there is an error only if nothing was. Communicators of other
  // recorders than gloo's have keys of their own (set_apart() in flight_memberships.h).
  // Errors, of gloo's recorder, for a worker without a last dump: kNotFound: no server there (torch
  // has none, no process group yet, or it has ended); kTimeout; kLimit: larger than
  // kFlightAnswerBytesMax; kCorrupt; kUnavailable: the worker closed the connection or refused.
  using Done = std::function<void(base::Result<std::vector<tracer::Membership>>)>;

  // `path`: the socket, which need not exist yet. `last_words`: the file with the last dump of
  // gloo's recorder, and with ".nccl2" and ".nccl-lazy" appended those of the others; empty: none.
  static std::unique_ptr<FlightSource> make(NodeContext& node, std::string path, base::Rank rank,
                                            std::string last_words = {});
  // Destroying it drops what is under way: `done` is not called any more.
  virtual ~FlightSource() = default;
  // `done` comes once, from the loop, never from within ask(). One question at a time.
  virtual void ask(Question question, Done done) = 0;
  [[nodiscard]] virtual bool is_asking() const = 0;
};

// Removes the files of a last dump.
void remove_last_words(const std::string& last_words);

// How far an HTTP answer has arrived. Pure.
struct HttpProgress {
  bool is_whole = false;
  std::size_t body_at = 0;
  std::size_t body_size = 0;
};
// kNotFound: status 404; kUnavailable: any other status but 200; kCorrupt: no HTTP; kLimit: the
// answer announces more than kFlightAnswerBytesMax, or its head is too long.
base::Result<HttpProgress> look_at_http(std::string_view bytes);

}  // namespace robustrun::agent
