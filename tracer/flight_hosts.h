#pragma once
// Of a job at rest, by its dumps: ranks whose host has stopped calling, though nothing that it has
// called keeps it. Such a rank may have operations pending, as a victim has, and waits for nobody
// all the same.
//
// Two things show it. A rank that has finished all it has called waits for no peer; at the end of
// its program it is when no other has called more. And where another rank at the same place of the
// program went on with the same operation unfinished, nothing there waits for the GPU: this one
// would have gone on as well. Places are told by the two calls before and by their numbers. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracer/flight_recorder.h"

namespace robustrun::tracer {

class HostsAtRest {
 public:
  void add(std::uint32_t rank, const FlightRecording& recording);
  [[nodiscard]] std::set<std::uint32_t> halted() const;

 private:
  struct Host {
    std::uint64_t place = 0;  // where it stands
    std::size_t unfinished = 0;  // calls
    bool is_deeper = false;  // the recorder has overwritten some that may be unfinished
    std::vector<std::uint64_t> passed;  // places, with their last call unfinished
    std::map<std::uint64_t, std::uint64_t> open;  // by communicator: first unfinished collective
    std::map<std::string, std::uint64_t> entered;  // by name of the kind of group: the newest
  };
  [[nodiscard]] bool is_behind(const Host& host) const;
  [[nodiscard]] bool is_at_end(const Host& host) const;

  std::map<std::uint32_t, Host> hosts_;
  std::map<std::uint64_t, std::uint64_t> done_;  // by communicator: last one that anybody finished
  std::map<std::string, std::uint64_t> entered_;  // as in Host, of all ranks
};

}  // namespace robustrun::tracer
