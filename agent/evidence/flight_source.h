#pragma once
// Asks a worker for the content of torch's Flight Recorders: one HTTP request for each, over the
// Unix socket on which the boot module has torch's worker server listen
// (python/robustrun/_diagnose/flight.py). HTTP: RFC 9112, as far as that server needs it.
//
// gloo has a recorder, and so has each of the back ends nccl2 and nccl-lazy. The recorder of the
// older NCCL back end is not asked, because reading it can abort the capture of a CUDA graph. If
// the worker's torch lacks the recorder of nccl2 or nccl-lazy (the answer is status 404 or has
// gloo's entries), that recorder is not asked again. If the worker does not answer, its last dump
// is read: files with the same content, which a worker writes when it ends by an exception.
//
// Owned by the CollectiveWatch, on the agent's loop; an answer is parsed on the pool, because that
// takes milliseconds. The worker is not trusted: its answer is bounded, and there is a time limit.

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
    base::Nanos within{};  // time limit for the answers to arrive
    // Also ask nccl2 and nccl-lazy, because NCCL's plugin does not see NCCL in this worker.
    bool nccl = false;
  };
  // The communicators of all recorders that could be read. Those of nccl2 and nccl-lazy have keys
  // of their own (tracer::set_apart()). If no recorder could be read, the error of gloo's recorder.
  // kNotFound: there is no server (torch has none, there is no process group yet, or the worker has
  // ended). kTimeout: no answer in time. kLimit: the answer is larger than kFlightAnswerBytesMax.
  // kCorrupt: the answer is malformed. kUnavailable: the worker closed the connection or refused.
  using Done = std::function<void(base::Result<std::vector<tracer::Membership>>)>;

  // `path`: the socket, which need not exist yet. `last_words`: path of the last dump of gloo's
  // recorder; the other recorders' dumps have ".nccl2" and ".nccl-lazy" appended; empty: none.
  static std::unique_ptr<FlightSource> make(NodeContext& node, std::string path, base::Rank rank,
                                            std::string last_words = {});
  // `done` is not called any more.
  virtual ~FlightSource() = default;
  // `done` is called once, from the loop, never from within ask(). One question at a time.
  virtual void ask(Question question, Done done) = 0;
  [[nodiscard]] virtual bool is_asking() const = 0;
};

// Removes the files of a last dump. `last_words`: as in FlightSource::make().
void remove_last_words(const std::string& last_words);

// How far an HTTP answer has arrived. Pure.
struct HttpProgress {
  bool is_whole = false;
  std::size_t body_at = 0;
  std::size_t body_size = 0;
};
// kNotFound: status 404. kUnavailable: any other status but 200. kCorrupt: not HTTP/1.1, or the
// length of the body is not given. kLimit: the body has more than kFlightAnswerBytesMax, or the
// head is too long.
base::Result<HttpProgress> look_at_http(std::string_view bytes);

}  // namespace robustrun::agent
